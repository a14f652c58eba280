// What the agent takes on a node: bytes on the disk, memory while it runs, time for an apply that finds nothing to do.
import type { MachineHost } from '../../src/providers/local/qemu/machine-host.ts';
import { printRow } from './row.ts';

/** Its own files, and the interpreter's package, which no node would have without it. */
const sizeScript = `{ find /usr/lib/imago /usr/lib/systemd/system/*/10-imago.conf /usr/lib/systemd/system/imago-* -type f
echo /usr/bin/imago-agent; echo /usr/lib/udev/rules.d/99-imago.rules; dpkg-query --listfiles quickjs; } |
while read -r file; do [ -f "$file" ] && [ ! -L "$file" ] && stat --format=%s "$file"; done | awk '{ sum += $1 } END { print sum }'`;

const memoryScript = `pid=$(systemctl show --property=MainPID --value imago-agent)
awk '/^VmRSS|^VmHWM/ { print $2 }' "/proc/$pid/status"`;

const runs = 20;
const rounds = 5;

/** Nanoseconds of one run of each, a pair a round. */
const applyScript = `imago-agent apply >/dev/null
for round in $(seq ${rounds}); do
  a=$(date +%s%N); for i in $(seq ${runs}); do sh -c true; done
  b=$(date +%s%N); for i in $(seq ${runs}); do imago-agent apply >/dev/null; done
  c=$(date +%s%N); echo "$(((b - a) / ${runs})) $(((c - b) / ${runs}))"
done
imago-agent apply`;

export async function measureAgent(host: MachineHost, id: string): Promise<void> {
  const run = async (script: string) => {
    const { exitCode, stdout, stderr } = await host.runCommand(id, script, { timeoutMs: 900_000 });
    if (exitCode !== 0) throw new Error(`${stderr}\n${stdout}`);
    return stdout.trim().split('\n');
  };
  const bytes = Number((await run(sizeScript))[0]);
  printRow({
    what: 'the agent on the image, with its interpreter',
    ...{ value: megabytes(bytes), bar: 'at most 3 MB', met: bytes > 0 && bytes <= 3e6 },
  });

  const [peak = 0, resident = 0] = (await run(memoryScript)).map((line) => Number(line) * 1024);
  printRow({
    what: 'the agent in memory',
    value: `${megabytes(resident)} resident, ${megabytes(peak)} at its peak`,
    ...{ bar: 'at most 16 MB', met: resident > 0 && resident <= 16e6 },
  });

  // What a node starts after it is ready would be measured with it.
  await run('systemctl start imago-late.target');
  const lines = await run(applyScript);
  if (lines.pop() !== 'nothing to do') throw new Error(`the apply had something to do: ${lines.join('\n')}`);
  const pairs = lines.map((line) => line.split(' ').map(Number));
  const least = (column: number) => Math.min(...pairs.map((pair) => pair[column] ?? Number.NaN));
  const [shell, apply] = [least(0), least(1)];
  printRow({
    what: 'an apply with nothing to do, in the machine',
    value: `${(apply / 1e6).toFixed(1)} ms`,
    against: `\`sh -c true\` ${(shell / 1e6).toFixed(1)} ms`,
    ...{ ratio: apply / shell, bar: 'at most 10 times', met: apply / shell <= 10 },
  });
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(2)} MB`;
}
