// Closes the metadata service, which holds the node config, to pods. For the kernel's routing rules, packets of the machine
// itself come from the loopback; packets of pods come from another interface. So no packet filter is needed, and none can
// flush the rules.
import type { System } from '../system/system.ts';

interface Destination {
  readonly address: string;
  /** The priorities of the rules; the machine's own comes first. */
  readonly places: readonly [own: number, others: number];
}

const destinations: readonly Destination[] = [
  { address: 'to 169.254.169.254/32', places: [50, 51] },
  // The address also serves DNS, which pods can need. 6 is TCP: a node may not have the names of protocols.
  { address: 'to 168.63.129.16/32 ipproto 6 dport 80', places: [52, 53] },
  { address: 'to 168.63.129.16/32 ipproto 6 dport 32526', places: [54, 55] },
];

/** Returns why the kernel rejected the rules, if it did. A second call changes nothing, and never opens the service. */
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
  return others[0] ?? `ip exited with code ${exitCode}`;
}
