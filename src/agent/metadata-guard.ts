// Keeps pods from the metadata service, which holds the node config. Packets that this machine itself sends come from
// the loopback for the kernel's routing rules; whatever it passes on for pods comes from another interface. So no
// packet filter is needed, and none can flush it away.
import type { System } from './system.ts';

interface Destination {
  readonly address: string;
  /** The rules' places; the machine's own comes first. */
  readonly places: readonly [own: number, others: number];
}

const destinations: readonly Destination[] = [
  { address: 'to 169.254.169.254/32', places: [50, 51] },
  // The address also answers DNS, which pods may need.
  { address: 'to 168.63.129.16/32 ipproto tcp dport 80', places: [52, 53] },
  { address: 'to 168.63.129.16/32 ipproto tcp dport 32526', places: [54, 55] },
];

/** A second call changes nothing. False when the kernel took no rules. */
export async function guardMetadata(system: System, closed: boolean): Promise<boolean> {
  const removals = destinations.flatMap(({ places }) => places.map((place) => `rule del pref ${place}`));
  const additions = destinations.flatMap(({ address, places: [own, others] }) => [
    `rule add pref ${own} iif lo ${address} lookup main`,
    `rule add pref ${others} ${address} prohibit`,
  ]);
  await system.run(['ip', '-force', '-batch', '-'], { input: `${removals.join('\n')}\n` });
  if (!closed) return true;
  const { exitCode } = await system.run(['ip', '-batch', '-'], { input: `${additions.join('\n')}\n` });
  return exitCode === 0;
}
