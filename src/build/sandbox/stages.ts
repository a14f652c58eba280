// The two stages of the sandbox, each made by bubblewrap, with the host's tree detached in both.
// Trusted scripts run in the first: the host's programs, read-only, and the folder of the run, as a root whose ids own
// nothing else, without network. What packages bring runs in the second: nothing but the new root file system,
// with the few capabilities that dpkg needs, no way to gain others, and a filter of system calls.
import { lstatSync, readlinkSync } from 'node:fs';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { SandboxLimits } from './limits.ts';
import { type Namespace, neededIds } from './namespace.ts';
import { seccompFilter } from './seccomp.ts';

/** Where scripts find the folder of their run. */
export const workMount = '/work';
/** Where what packages bring finds the `inputs` of that folder. */
export const inputsMount = '/imago-inputs';

export function belowMount(index: number): string {
  return `/below/${index}`;
}

/** Read-only, and all that the host's programs need. */
const hostPaths = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/etc/alternatives',
  '/etc/ld.so.cache',
];

const capabilities = ['chown', 'dac_override', 'fowner', 'fsetid', 'kill', 'setgid', 'setuid', 'setfcap'];

/**
 * $1 is the id that becomes root. Files that Imago itself was started with are closed: they lead out. The map of ids is
 * written from outside of the new user namespace, which only a process that stays there can do. /proc is still the host's,
 * where this process has another number. For bash, which can close any file.
 */
const enterScript = `
for file in /proc/self/fd/*; do
  number=\${file##*/}
  if [ "$number" -gt 2 ]; then eval "exec $number>&-"; fi
done
first=$1 processes=$2 memory=$3
shift 3
echo 1000 >/proc/self/oom_score_adj
if [ -e ${workMount} ]; then chown "$first:$first" ${workMount}; fi
mkfifo /tmp/up /tmp/down
read -r own _ </proc/self/stat
exec 8<>/tmp/up 9<>/tmp/down
rm /tmp/up /tmp/down
{
  read -r _ <&8
  for kind in uid gid; do echo "0 $first ${neededIds}" >/proc/$own/"$kind"_map; done
  echo >&9
} &
exec prlimit --nproc="$processes" --as="$memory" setpriv --reuid "$first" --regid "$first" --clear-groups \\
  unshare --user --keep-caps /bin/sh -euc '
    echo >&8
    read -r _ <&9
    exec 8>&- 9>&-
    exec unshare --mount --propagation private --pid --net --ipc --uts --fork --mount-proc "$@"
  ' sh "$@"
`;

export interface Stage {
  readonly script: string;
  readonly args?: readonly string[];
  readonly folder?: string | undefined;
  readonly below?: readonly string[];
}

/** The words that run a script in the first stage. */
export function firstStage(
  { owner, first }: Namespace,
  limits: SandboxLimits,
  { script, args = [], folder, below = [] }: Stage,
): readonly [string, ...string[]] {
  return [
    ...(['setpriv', '--pdeathsig', 'KILL', ...owner, 'bwrap', '--die-with-parent'] as const),
    // What is in it ends with its first process, which a signal of the caller reaches: those below have other ids.
    '--unshare-pid',
    // Parents that bubblewrap makes on its own are closed to others.
    ...['--dir', '/etc', '--dir', '/below'],
    ...hostPaths.flatMap(hostPath),
    ...['--bind', '/proc', '/proc', '--dev', '/dev', '--chdir', '/'],
    ...['--perms', '1777', '--size', String(limits.memoryDiskBytes), '--tmpfs', '/tmp'],
    ...(folder === undefined ? [] : ['--bind', folder, workMount]),
    ...below.flatMap((path, index) => ['--ro-bind', path, belowMount(index)]),
    ...['--', '/bin/bash', '-euc', enterScript, 'sh', String(first)],
    ...[limits.processes, limits.memoryBytes].map(String),
    ...['/bin/sh', '-eu', '-c', `${secondStage(limits)}\n${script}`, 'imago', ...args],
  ];
}

function hostPath(path: string): readonly string[] {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [];
  return found.isSymbolicLink() ? ['--symlink', readlinkSync(path), path] : ['--ro-bind', path, path];
}

/** As `--dev` of bubblewrap has it, whose file system in memory has no limit. */
const deviceBytes = 1024 ** 2;
const deviceWords = [
  ...['null', 'zero', 'full', 'random', 'urandom', 'tty', 'pts'].map(
    (name) => `--dev-bind /dev/${name} /dev/${name}`,
  ),
  ...['stdin', 'stdout', 'stderr'].map((name, number) => `--symlink /proc/self/fd/${number} /dev/${name}`),
  ...['--symlink /proc/self/fd /dev/fd', '--symlink pts/ptmx /dev/ptmx'],
].join(' ');

/** A function of the shell that runs a command in the root file system at $root. */
function secondStage(limits: SandboxLimits): string {
  const filter = seccompFilter(process.arch);
  if (filter === undefined) {
    throw new ImagoError('sandbox-missing', `Imago has no filter of system calls for ${process.arch}.`);
  }
  const inMemory = `--size ${limits.memoryDiskBytes} --tmpfs`;
  const { memoryBytes, diskBytes } = limits;
  return `
in_root() {
  [ -e /tmp/filter ] || echo ${filter.toString('base64')} | base64 -d >/tmp/filter
  prlimit --as=${memoryBytes} --fsize=${diskBytes} --core=0 \\
    setpriv --bounding-set -all,${capabilities.map((name) => `+${name}`).join(',')} \\
    bwrap --die-with-parent --bind "$root" / --proc /proc --size ${deviceBytes} --tmpfs /dev ${deviceWords} \\
    ${inMemory} /run --perms 1777 ${inMemory} /tmp --perms 1777 ${inMemory} /dev/shm \\
    --ro-bind-try ${workMount}/inputs ${inputsMount} --chdir / \\
    --unshare-pid --unshare-ipc --unshare-uts --unshare-net --unshare-cgroup-try \\
    --cap-drop ALL ${capabilities.map((name) => `--cap-add CAP_${name.toUpperCase()}`).join(' ')} --seccomp 9 -- "$@" 9</tmp/filter
}`;
}
