// The swap file of a node. systemd switches it on and off by its unit; here it is made, and taken away.
import { startForFetch } from './deferred-units.ts';
import { stateFolder } from './paths.ts';
import { need } from './program-error.ts';
import type { System } from './system.ts';

const swapPath = `${stateFolder}/swap`;
/** Named after the path, as systemd wants it. */
export const swapUnit = 'var-lib-imago-swap.swap';

const mebibyte = 1_048_576;
const what = 'The swap file could not be made';

export function swapUnitText(mebibytes: number): string {
  return `[Unit]\nDescription=Swap of ${mebibytes} MiB\n\n[Swap]\nWhat=${swapPath}\n`;
}

/**
 * Called while the unit is down, or up with a file of that very size: then nothing changes. Throws `node-disk-full`
 * or `node-apply-failed`, and leaves no file of another size.
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
    await need(system, ['fallocate', '--length', `${mebibytes}MiB`, beside], { what });
    await need(system, ['mkswap', beside], { what });
    await need(system, ['sync', '--', beside], { what });
    system.rename(beside, swapPath);
  } catch (thrown) {
    system.remove(beside);
    throw thrown;
  }
}
