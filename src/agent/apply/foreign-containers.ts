// Removes the containers of a donor. A runtime stores them in one database with the images on the disk, so they cannot be
// deleted as files: the runtime itself must remove them, before a kubelet adopts them.
import { runtimeUnit } from '../desired/step.ts';
import { foreignContainersPath, stateFolder } from '../system/paths.ts';
import { runOrThrow } from '../system/program-error.ts';
import { makeDurable, type System } from '../system/system.ts';

const database = '/var/lib/containerd/io.containerd.metadata.v1.bolt/meta.db';
const containers = ['ctr', '--namespace', 'k8s.io', 'containers'] as const;
const needed = {
  what: 'The containers of the machine that this disk was copied from could not be removed',
  retryable: true,
} as const;

/** Call it on a clone, before its identity is recorded. Does nothing if no runtime has run. */
export function noteForeignContainers(system: System): void {
  if (system.facts(database) === undefined || system.facts(foreignContainersPath) !== undefined) return;
  system.writeFile(foreignContainersPath, '', { mode: 0o600 });
}

/**
 * Call it once the runtime can start, and before the kubelet does. Does nothing if none were noted, and after the first
 * successful call. Throws `node-apply-failed`.
 */
export async function removeForeignContainers(system: System): Promise<void> {
  if (system.facts(foreignContainersPath) === undefined) return;
  await runOrThrow(system, ['systemctl', 'start', runtimeUnit], needed);
  const ids = (await runOrThrow(system, [...containers, 'list', '--quiet'], needed))
    .split('\n')
    .filter((id) => id !== '');
  if (ids.length > 0) {
    await runOrThrow(system, [...containers, 'delete', ...ids], needed);
    // It has read them at its start, and would still report them.
    await runOrThrow(system, ['systemctl', 'restart', runtimeUnit], needed);
  }
  system.remove(foreignContainersPath);
  await makeDurable(system, [stateFolder]);
}
