// Waits for a route to the metadata service without starting a process: a request before that only costs time.
import type { System } from '../system/system.ts';

const checkEveryMs = 50;
/** How long to wait for a card without a route if another one already has a route. */
const otherCardsMs = 5000;

/** Returns whether there was a route before the deadline. */
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
    await system.sleep(checkEveryMs);
  }
}

/** Returns network cards that have no route yet: the metadata service can be behind one of them. */
function cardsWithout(system: System, table: string): readonly string[] {
  const cards = system.list('/sys/class/net').filter((name) => {
    return system.facts(`/sys/class/net/${name}/device`) !== undefined;
  });
  return cards.filter((name) => !table.includes(`${name}\t`));
}

/** Returns whether there is a route to the service's own network, in addition to a default route. */
function hasMetadataRoute(table: string): boolean {
  return hasRoute(
    table
      .split('\n')
      .filter((line) => line.split('\t')[1] !== '00000000')
      .join('\n'),
  );
}

/** Returns whether there is a default route, or one that covers 169.254.169.254; addresses are in host byte order. */
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
