// Waits for a way to the metadata service without starting a program: a question before there is one only costs time.
import type { System } from '../system/system.ts';

const lookEveryMs = 50;
/** How long a card without a route is waited for when another one leads outside already. */
const otherCardsMs = 5000;

/** True when there is a route; false when there was none until the deadline. */
export async function waitForRoute(system: System, deadlineMs: number): Promise<boolean> {
  const end = system.uptimeMs() + deadlineMs;
  let since: number | undefined;
  for (;;) {
    const table = system.readText('/proc/net/route') ?? '';
    const now = system.uptimeMs();
    if (hasMetadataRoute(table)) return true;
    if (hasRoute(table)) {
      since ??= now;
      if (now - since >= otherCardsMs || cardsWithout(system, table).length === 0) return true;
    }
    if (now > end) return false;
    await system.sleep(lookEveryMs);
  }
}

/** Network cards that have no route yet: the metadata service may be behind one of them. */
function cardsWithout(system: System, table: string): readonly string[] {
  const cards = system.list('/sys/class/net').filter((name) => {
    return system.facts(`/sys/class/net/${name}/device`) !== undefined;
  });
  return cards.filter((name) => !table.includes(`${name}\t`));
}

/** A route to the service's own network, beyond the one to everywhere. */
function hasMetadataRoute(table: string): boolean {
  return hasRoute(
    table
      .split('\n')
      .filter((line) => line.split('\t')[1] !== '00000000')
      .join('\n'),
  );
}

/** A default route, or one that covers 169.254.169.254; addresses stand in the kernel's own order of bytes. */
export function hasRoute(table: string): boolean {
  return table
    .split('\n')
    .slice(1)
    .some((line) => {
      const [device, destination = '', , flags = '0', , , , mask = ''] = line.trim().split(/\s+/);
      if (device === undefined || device === 'lo' || (Number.parseInt(flags, 16) & 1) === 0) return false;
      if (destination === '00000000') return true;
      const [target, bits] = [Number.parseInt(destination, 16), Number.parseInt(mask, 16)];
      return ((0xfea9fea9 & bits) ^ target) === 0 && bits !== 0;
    });
}
