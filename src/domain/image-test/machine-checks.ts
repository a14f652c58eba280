// Checks of a machine that was started from the image: one script each, and what its answer means.
import { agentChecks } from './agent-checks.ts';
import { containerChecks } from './container-checks.ts';
import { fail, type MachineCheck, pass, passWhenNone, passWhenSays, whenEnded } from './image-check.ts';
import { softwareChecks } from './software-checks.ts';
import { systemChecks } from './system-checks.ts';

const bootChecks: readonly MachineCheck[] = [
  {
    id: 'boot-finished',
    title: 'the start comes to its end',
    remedy: 'See `systemctl list-jobs`: something waits for what never comes.',
    timeoutMs: 300_000,
    // Part of the system starts only once the node is ready: a start of it that is under way is waited for.
    script: () => 'systemctl start imago-late.target 2>/dev/null; systemctl is-system-running --wait || true',
    judge: (answer) =>
      whenEnded(answer, (said) => {
        const state = said.at(-1) ?? 'no answer';
        return state === 'running' || state === 'degraded' ? pass(state) : fail(state);
      }),
  },
  {
    id: 'boot-failed-units',
    title: 'no unit failed',
    remedy: 'See `systemctl status` and `journalctl -u` of the unit.',
    script: () => 'systemctl list-units --state=failed --plain --no-legend --no-pager',
    judge: (answer) =>
      whenEnded(answer, (said) =>
        passWhenNone(
          said.map((line) => line.split(/\s+/)[0] ?? ''),
          'none',
        ),
      ),
  },
  {
    id: 'boot-critical-messages',
    title: 'nothing critical was logged',
    remedy: 'Read the message: the kernel or a service says that something is broken.',
    // While the log is on its way to the disk, a file of it is there that cannot be read yet.
    script: () => 'journalctl --flush && journalctl --boot --priority=crit --quiet --no-pager --output=cat',
    judge: (answer) => whenEnded(answer, (said) => passWhenNone(said, 'nothing')),
  },
  {
    id: 'boot-file-system',
    title: 'the root file system has no errors',
    remedy: 'The disk is damaged: verify the version with `imago image verify`.',
    script: () =>
      `dev=$(findmnt --noheadings --output SOURCE --mountpoint /) && cat "/sys/fs/ext4/\${dev##*/}/errors_count"`,
    judge: (answer) => passWhenSays(answer, '0'),
  },
  {
    id: 'disk-grown',
    once: true,
    title: 'the root file system fills its disk',
    remedy: 'See `systemctl status imago-grow-root`.',
    script: () =>
      [
        'dev=$(findmnt --noheadings --output SOURCE --mountpoint /)',
        `part=$(readlink -f "/sys/class/block/\${dev##*/}")`,
        `echo "$(cat "\${part%/*}/size") $(cat "$part/start") $(cat "$part/size") $(stat --file-system --format="%b %S" /)"`,
      ].join('; '),
    judge: (answer) =>
      whenEnded(answer, ([said = '']) => {
        const [disk = 0, start = 0, size = 0, blocks = 0, block = 0] = said.split(/\s+/).map(Number);
        const unused = disk - start - size;
        const inside = (blocks * block) / (size * 512);
        const detail = `${Math.round((size * 512) / 1048576)} MiB of ${Math.round((disk * 512) / 1048576)} MiB, ${Math.round(inside * 100)} % usable`;
        return disk > 0 && size > 0 && unused >= 0 && unused <= 8192 && inside > 0.8
          ? pass(detail)
          : fail(detail);
      }),
  },
];

/** In the order in which they are told. */
export const machineChecks: readonly MachineCheck[] = [
  ...bootChecks,
  ...agentChecks,
  ...softwareChecks,
  ...containerChecks,
  ...systemChecks,
];
