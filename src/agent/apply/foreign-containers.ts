// What a donor's container runtime ran. A runtime keeps it in one database with the images that the disk brought along,
// so it cannot be deleted as files are: the runtime itself has to take it out, before a kubelet takes it for its own.

import { runtimeUnit } from '../desired/step.ts';
import { foreignContainersPath, stateFolder } from '../system/paths.ts';
import { need } from '../system/program-error.ts';
import { makeDurable, type System } from '../system/system.ts';

const database = '/var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db';
const containers = ['ctr', '--namespace', 'k8s.io', 'containers'] as const;
const needed = {
  what: 'The containers of the machine that this disk was copied from could not be removed',
  retryable: true,
} as const;

/** On a clone, before it is known as a machine of its own. Nothing to do where no runtime has run. */
export function noteForeignContainers(system: System): void {
  if (system.facts(database) === undefined || system.facts(foreignContainersPath) !== undefined) return;
  system.writeFile(foreignContainersPath, '', { mode: 0o600 });
}

/**
 * Once the runtime may start, and before the kubelet does. Does nothing where none were noted, and after the first
 * call that ended well. Throws `node-apply-failed`.
 */
export async function removeForeignContainers(system: System): Promise<void> {
  if (system.facts(foreignContainersPath) === undefined) return;
  await need(system, ['systemctl', 'start', runtimeUnit], needed);
  const ids = (await need(system, [...containers, 'list', '--quiet'], needed))
    .split('\n')
    .filter((id) => id !== '');
  if (ids.length > 0) {
    await need(system, [...containers, 'delete', ...ids], needed);
    // It has read them at its start, and would go on telling of them.
    await need(system, ['systemctl', 'restart', runtimeUnit], needed);
  }
  system.remove(foreignContainersPath);
  await makeDurable(system, [stateFolder]);
}
