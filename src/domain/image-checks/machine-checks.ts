// Checks of a machine that was started from the image: one script each, and what its answer means.
import { containerChecks } from './container-checks.ts';
import {
  fail,
  hasUnit,
  lines,
  type MachineCheck,
  pass,
  passWhenEnds,
  passWhenNone,
  passWhenSays,
} from './image-check.ts';
import { softwareChecks } from './software-checks.ts';
import { systemChecks } from './system-checks.ts';

const bootChecks: readonly MachineCheck[] = [
  {
    id: 'boot-finished',
    title: 'the start comes to its end',
    remedy: 'See `systemctl list-jobs`: something waits for what never comes.',
    // Part of the system starts only once the node is ready: a start of it that is under way is waited for.
    script: () =>
      'systemctl start imago-late.target 2>/dev/null; timeout 60 systemctl is-system-running --wait || true',
    judge({ output }) {
      const state = lines(output).at(-1) ?? '';
      return state === 'running' || state === 'degraded' ? pass(state) : fail(state || 'no answer');
    },
  },
  {
    id: 'boot-failed-units',
    title: 'no unit failed',
    remedy: 'See `systemctl status` and `journalctl -u` of the unit.',
    script: () => 'systemctl list-units --state=failed --plain --no-legend --no-pager',
    judge: ({ exitCode, output }) =>
      exitCode === 0
        ? passWhenNone(
            lines(output).map((line) => line.split(/\s+/)[0] ?? ''),
            'none',
          )
        : fail(output.slice(0, 200)),
  },
  {
    id: 'boot-critical-messages',
    title: 'nothing critical was logged',
    remedy: 'Read the message: the kernel or a service says that something is broken.',
    script: () => 'journalctl --boot --priority=crit --quiet --no-pager --output=cat',
    judge: ({ exitCode, output }) =>
      exitCode === 0 ? passWhenNone(lines(output), 'nothing') : fail(output.slice(0, 200)),
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
    title: 'the root file system fills its disk',
    remedy: 'See `systemctl status imago-grow-root`.',
    script: () =>
      [
        'dev=$(findmnt --noheadings --output SOURCE --mountpoint /)',
        `part=$(readlink -f "/sys/class/block/\${dev##*/}")`,
        `echo "$(cat "\${part%/*}/size") $(cat "$part/start") $(cat "$part/size") $(stat --file-system --format="%b %S" /)"`,
      ].join('; '),
    judge({ output }) {
      const [disk = 0, start = 0, size = 0, blocks = 0, block = 0] = output.trim().split(/\s+/).map(Number);
      const unused = disk - start - size;
      const inside = (blocks * block) / (size * 512);
      const detail = `${Math.round((size * 512) / 1048576)} MiB of ${Math.round((disk * 512) / 1048576)} MiB, ${Math.round(inside * 100)} % usable`;
      return disk > 0 && size > 0 && unused >= 0 && unused <= 8192 && inside > 0.8
        ? pass(detail)
        : fail(detail);
    },
  },
];

const agentChecks: readonly MachineCheck[] = [
  {
    id: 'agent-verify',
    title: 'the agent finds everything as the node config says',
    remedy: 'Run `imago-agent verify` on a machine that was kept: it names what differs.',
    script: ({ disk }) => (hasUnit(disk, 'imago-agent.service') ? 'imago-agent verify' : undefined),
    judge: (answer) => passWhenEnds(answer, 'as the config says'),
  },
  {
    id: 'agent-second-apply',
    title: 'a second apply changes nothing',
    remedy: 'Run `imago-agent apply` twice: what the second one lists is not stable.',
    script: ({ disk }) =>
      hasUnit(disk, 'imago-agent.service')
        ? [
            'mark=$(mktemp) && sleep 0.1',
            'imago-agent apply >/dev/null 2>&1 || exit 1',
            'find /etc /usr /var/lib/kubelet /var/lib/imago/components -xdev -newer "$mark" -type f 2>/dev/null | head -20',
            'rm -f "$mark"',
          ].join('; ')
        : undefined,
    judge: ({ exitCode, output }) =>
      exitCode === 0 ? passWhenNone(lines(output), 'nothing changed') : fail(`apply ended with ${exitCode}`),
  },
  {
    id: 'agent-secrets',
    title: "the agent's status holds no secret",
    remedy: 'A status must never hold a token: report it.',
    script: ({ disk }) =>
      hasUnit(disk, 'imago-agent.service')
        ? 'grep -Eic "bearer|private key|password|[a-z0-9]{6}\\.[a-z0-9]{16}" /run/imago/status.json || true'
        : undefined,
    judge: (answer) => passWhenSays(answer, '0'),
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
