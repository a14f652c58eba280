// Keeps pods from the metadata service, which holds the node config. Packets that this machine itself sends come from
// the loopback for the kernel's routing rules; whatever it passes on for pods comes from another interface. So no
// packet filter is needed, and none can flush it away.
import type { System } from '../system/system.ts';

interface Destination {
  readonly address: string;
  /** The rules' places; the machine's own comes first. */
  readonly places: readonly [own: number, others: number];
}

const destinations: readonly Destination[] = [
  { address: 'to 169.254.169.254/32', places: [50, 51] },
  // The address also answers DNS, which pods may need. 6 is TCP: a node may not have the names of protocols.
  { address: 'to 168.63.129.16/32 ipproto 6 dport 80', places: [52, 53] },
  { address: 'to 168.63.129.16/32 ipproto 6 dport 32526', places: [54, 55] },
];

/** A second call changes nothing, and leaves no moment in which the way is open. Answers with why not when the kernel took no rules. */
export async function guardMetadata(system: System, closed: boolean): Promise<string | undefined> {
  const lines = destinations.flatMap(({ address, places: [own, others] }) =>
    closed
      ? [`rule add pref ${own} iif lo ${address} lookup main`, `rule add pref ${others} ${address} prohibit`]
      : [`rule del pref ${own}`, `rule del pref ${others}`],
  );
  const { exitCode, stderr } = await system.run(['ip', '-force', '-batch', '-'], {
    input: `${lines.join('\n')}\n`,
  });
  if (exitCode === 0 || !closed) return undefined;
  const problems = stderr.split('\n').filter((line) => line !== '' && !/^Command failed/.test(line));
  const others = problems.filter((line) => !/File exists/.test(line));
  if (problems.length > 0 && others.length === 0) return undefined;
  return others[0] ?? `ip ended with ${exitCode}`;
}
