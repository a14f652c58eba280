// A job in a machine: a script that runs detached, once, however often it is asked for. The same command starts it, or
// attaches to it after a lost reply, a crash of the daemon, or a restart of the machine.

export interface GuestJob {
  /** Letters, digits and dashes. The same id is the same job. */
  readonly id: string;
  readonly script: string;
  /** Where to continue in its output, in bytes. */
  readonly from: number;
}

export interface GuestJobState {
  /** `lost`: the machine restarted, or something ended the job, before it had a result. */
  readonly state: 'starting' | 'running' | 'done' | 'lost';
  /** Of the machine's current boot, and of the one in which the job started. */
  readonly boot: string;
  readonly startedIn: string;
  readonly exitCode: number;
  /** How long it took, or has been running. */
  readonly ms: number;
  /** Where the output continues. */
  readonly next: number;
  readonly output: string;
}

/** What a build leaves on the machine's disk until the disk is cleaned. */
export const buildFolder = '/var/lib/imago-build';
export const inputFolder = `${buildFolder}/inputs`;
export const maxOutput = 32_768;

/** A command line of a job for the machine's own shell. */
export function jobScript({ id, script, from }: GuestJob): string {
  return `# imago-job ${id} ${from}
d=${buildFolder}/jobs/${id}
boot=$(cat /proc/sys/kernel/random/boot_id)
mkdir -p -m 0700 ${buildFolder} ${buildFolder}/jobs
if mkdir "$d" 2>/dev/null; then
cat >"$d/script" <<'${endOf(id)}'
${script}
${endOf(id)}
cat >"$d/run" <<'imago-run'
d=\${0%/run}
: >"$d/began"
began=$(date +%s%3N)
cd /
case $(head -c 2 "$d/script") in
'#!') chmod 0700 "$d/script"; "$d/script" ;;
*) sh -e "$d/script" ;;
esac >"$d/log" 2>&1 </dev/null
echo "$? $(($(date +%s%3N) - began))" >"$d/exit.new"
sync
mv "$d/exit.new" "$d/exit"
sync "$d/exit"
imago-run
: >"$d/log"
echo "$boot" >"$d/boot.new"
sync "$d/boot.new" "$d/script" "$d/run"
mv "$d/boot.new" "$d/boot"
systemd-run --quiet --no-block --collect --unit=imago-job-${id} --setenv=IMAGO_INPUTS=${inputFolder} --setenv=HOME=/root --setenv=DEBIAN_FRONTEND=noninteractive /bin/sh "$d/run" >&2
fi
state=running
if [ ! -e "$d/began" ]; then
state=starting
[ -z "$(find "$d/script" -mmin +5)" ] || state=lost
elif ! systemctl is-active --quiet imago-job-${id}; then
state=lost
fi
[ ! -e "$d/boot" ] || [ "$(cat "$d/boot")" = "$boot" ] || state=lost
code=0 ms=$((($(date +%s) - $(stat -c %Y "$d/script" 2>/dev/null || date +%s)) * 1000))
[ "$ms" -ge 0 ] || ms=0
if [ -e "$d/exit" ]; then
state=done
read -r code ms <"$d/exit"
fi
size=$(stat -c %s "$d/log" 2>/dev/null || echo ${from})
[ "$size" -le ${from + maxOutput} ] || size=${from + maxOutput}
echo "imago-job $state boot=$boot started=$(cat "$d/boot" 2>/dev/null) exit=$code ms=$ms next=$size"
tail -c +${from + 1} "$d/log" 2>/dev/null | head -c $((size - ${from}))
`;
}

function endOf(id: string): string {
  return `imago-end-${id}`;
}

/** For a machine that is not real: the job that a command line asks for. */
export function readJobScript(command: string): GuestJob | undefined {
  const [, id, from] = /^# imago-job (\S+) (\d+)\n/.exec(command) ?? [];
  if (id === undefined) return undefined;
  const [, script = ''] = command.split(new RegExp(`<<'${endOf(id)}'\n|\n${endOf(id)}\n`));
  return { id, script, from: Number(from) };
}

const answer =
  /^imago-job (starting|running|done|lost) boot=(\S*) started=(\S*) exit=(-?\d+) ms=(\d+) next=(\d+)\n/;

/** `undefined` for what is no answer to a job: a reply that was cut off, or of another program. */
export function readJob(stdout: string): GuestJobState | undefined {
  const found = answer.exec(stdout);
  if (found === null) return undefined;
  const [head, state, boot = '', startedIn = '', exit, ms, next] = found;
  return {
    state: state as GuestJobState['state'],
    ...{ boot, startedIn, exitCode: Number(exit), ms: Number(ms), next: Number(next) },
    output: stdout.slice(head.length),
  };
}
