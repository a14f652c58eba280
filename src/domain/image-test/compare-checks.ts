// Checks of two machines against each other, and of one machine before and after a restart.
import {
  type CompareCheck,
  fail,
  hasUnit,
  lines,
  type ProbeAnswer,
  pass,
  passWhenNone,
} from './image-check.ts';

function differ(one: ProbeAnswer, other: ProbeAnswer) {
  const [a, b] = [one.output.trim(), other.output.trim()];
  if (one.exitCode !== 0 || other.exitCode !== 0 || a === '' || b === '') return fail('one of them has none');
  return a === b ? fail(`both have ${a.slice(0, 100)}`) : pass('they differ');
}

function equal(one: ProbeAnswer, other: ProbeAnswer) {
  const [a, b] = [one.output.trim(), other.output.trim()];
  if (one.exitCode !== 0 || other.exitCode !== 0 || a === '') return fail('it has none');
  return a === b ? pass('the same') : fail(`${a.slice(0, 100)}, then ${b.slice(0, 100)}`);
}

const machineId = () => 'cat /etc/machine-id';
const hostKeys: CompareCheck['script'] = ({ disk }) =>
  hasUnit(disk, 'ssh.service') ? 'cat /etc/ssh/ssh_host_*_key.pub' : undefined;
const remedy = 'Take it off the disk: the agent makes a new identity before any service uses it.';

/** Two machines of one image must differ in all of these. */
export const pairChecks: readonly CompareCheck[] = [
  {
    id: 'pair-machine-id',
    title: 'two machines have ids of their own',
    remedy,
    script: machineId,
    judge: differ,
  },
  {
    id: 'pair-host-keys',
    title: 'two machines have ssh host keys of their own',
    remedy,
    script: hostKeys,
    judge: differ,
  },
  {
    id: 'pair-host-name',
    title: 'two machines have names of their own',
    remedy: 'The agent sets the name from the metadata service.',
    script: () => 'hostname',
    judge: differ,
  },
  {
    id: 'pair-random',
    title: 'two machines have random seeds of their own',
    remedy: 'Take the seed off the disk, and let systemd-random-seed.service write one on each machine.',
    script: ({ disk }) =>
      hasUnit(disk, 'systemd-random-seed.service') ? 'sha256sum </var/lib/systemd/random-seed' : undefined,
    judge: differ,
  },
  {
    id: 'pair-addresses',
    title: 'two machines have hardware addresses of their own',
    remedy: 'No address of a network card may be fixed on the disk.',
    script: () => 'cat /sys/class/net/e*/address',
    judge: differ,
  },
];

/** What a machine must keep when it is started again, and what must be new. */
export const restartChecks: readonly CompareCheck[] = [
  {
    id: 'restart-new-boot',
    title: 'the machine was started again',
    remedy: 'It did not go down when it was asked to.',
    script: () => 'cat /proc/sys/kernel/random/boot_id',
    judge: differ,
  },
  {
    id: 'restart-machine-id',
    title: 'a restart keeps the machine id',
    remedy: 'The id is kept in memory only: see that /etc is writable at the first start.',
    script: machineId,
    judge: equal,
  },
  {
    id: 'restart-host-keys',
    title: 'a restart keeps the ssh host keys',
    remedy: 'Something makes new keys at each start.',
    script: hostKeys,
    judge: equal,
  },
  {
    id: 'restart-failed-units',
    title: 'no unit failed after the restart',
    remedy: 'See `systemctl status` of the unit: it works once only.',
    script: () => 'systemctl list-units --state=failed --plain --no-legend --no-pager',
    judge: (_first, { exitCode, output }) =>
      exitCode === 0
        ? passWhenNone(
            lines(output).map((line) => line.split(/\s+/)[0] ?? ''),
            'none',
          )
        : fail(output.slice(0, 200)),
  },
];
