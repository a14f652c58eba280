// Waits for a way to the metadata service without starting a program: a question before there is one only costs time.
import type { System } from './system.ts';

const lookEveryMs = 50;

/** True when there is a route; false when there was none until the deadline. */
export async function waitForRoute(system: System, deadlineMs: number): Promise<boolean> {
  const end = system.uptimeMs() + deadlineMs;
  while (!hasRoute(system.readText('/proc/net/route') ?? '')) {
    if (system.uptimeMs() > end) return false;
    await system.sleep(lookEveryMs);
  }
  return true;
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
