// The part of the system that waits for the node to be ready. On an image that puts nothing off there is no such target.
import { lateTarget } from '../../install/deferred-target.ts';
import type { System } from './system.ts';

export function hasRest(system: System): boolean {
  return system.facts(`/usr/lib/systemd/system/${lateTarget}`) !== undefined;
}

/** Does not wait for it. A second call starts what could not start the first time. */
export async function startRest(system: System): Promise<void> {
  if (hasRest(system)) await system.run(['systemctl', 'start', '--no-block', lateTarget]);
}

/** Before something is fetched: names that are found, and the whole disk to put it on. Waits for both. */
export async function startForFetch(system: System): Promise<void> {
  if (!hasRest(system)) return;
  await system.run(['systemctl', 'start', 'systemd-resolved.service', 'imago-grow-root.service'], {
    timeoutMs: 90_000,
  });
}
