// The swap file of a node. systemd activates it by its unit; here it is created and removed.
import { startForFetch } from './deferred-units.ts';
import { stateFolder } from './paths.ts';
import { runOrThrow } from './program-error.ts';
import type { System } from './system.ts';

const swapPath = `${stateFolder}/swap`;
/** Named after the path, as systemd requires. */
export const swapUnit = 'var-lib-imago-swap.swap';

const mebibyte = 1_048_576;
const what = 'The swap file could not be created';

export function swapUnitText(mebibytes: number): string {
  return `[Unit]\nDescription=Swap of ${mebibytes} MiB\n\n[Swap]\nWhat=${swapPath}\n`;
}

/**
 * Call it while the unit is stopped, or active with a file of that exact size: then nothing changes. Throws
 * `node-disk-full` or `node-apply-failed`, and leaves no file of another size.
 */
export async function prepareSwap(system: System, mebibytes: number): Promise<void> {
  const size = system.facts(swapPath)?.size;
  if (size === mebibytes * mebibyte) return;
  const beside = `${swapPath}.new`;
  system.remove(beside);
  system.remove(swapPath);
  if (mebibytes === 0) return;
  system.makeFolder(stateFolder, { mode: 0o700 });
  await startForFetch(system);
  try {
    system.writeFile(beside, '', { mode: 0o600 });
    await runOrThrow(system, ['fallocate', '--length', `${mebibytes}MiB`, beside], { what });
    await runOrThrow(system, ['mkswap', beside], { what });
    await runOrThrow(system, ['sync', '--', beside], { what });
    system.rename(beside, swapPath);
  } catch (thrown) {
    system.remove(beside);
    throw thrown;
  }
}
