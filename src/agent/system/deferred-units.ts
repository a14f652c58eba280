// The part of the system that starts after the node is ready. An image without deferred units has no such target.
import { lateTarget } from '../../install/enable-unit.ts';
import type { System } from './system.ts';

export function hasRest(system: System): boolean {
  return system.facts(`/usr/lib/systemd/system/${lateTarget}`) !== undefined;
}

/** Starts the deferred units without waiting. A second call starts what could not start the first time. */
export async function startRest(system: System): Promise<void> {
  if (hasRest(system)) await system.run(['systemctl', 'start', '--no-block', lateTarget]);
}

/** Starts what a fetch needs and waits for it: name resolution, and the grown disk. */
export async function startForFetch(system: System): Promise<void> {
  if (!hasRest(system)) return;
  await system.run(['systemctl', 'start', 'systemd-resolved.service', 'imago-grow-root.service'], {
    timeoutMs: 90_000,
  });
}
