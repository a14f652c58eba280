// How a Windows disk differs from the lock that it was built from. The disk is what is true.
import { componentInputs, type Lock } from '../../domain/lock/lock.ts';
import { expandOne, substitute } from '../../domain/recipe/variables.ts';
import { installedPatches } from '../../domain/recipe/windows.ts';
import type { InventoryFile, InventoryWindows } from '../model/inventory.ts';

/** A sentence each; private inputs are not named. */
export function compareLock(
  lock: Lock,
  windows: Pick<InventoryWindows, 'features' | 'patches' | 'services' | 'registry' | 'version'>,
  files: readonly InventoryFile[],
): readonly string[] {
  const recipe = expandOne(lock.recipe);
  const { features = [], services = [], registry = [] } = recipe.windows ?? {};
  const same = (a: string, b: string) => a.toUpperCase() === b.toUpperCase();
  const starts = new Map(windows.services.map(({ name, start }) => [name.toUpperCase(), start]));
  const paths = new Map(files.map((file) => [file.path.toUpperCase(), file]));
  return [
    ...features
      .filter((name) => !windows.features.some((other) => same(other, name)))
      .map((name) => `The feature ${name} is not installed.`),
    ...installedPatches(recipe.windows ?? {}).flatMap((patch) => {
      const found = windows.patches.find(({ kb }) => kb === patch.kb);
      if (found?.state === 'installed' || found?.state === 'permanent') return [];
      const name = patch.private === true ? 'A private patch' : patch.kb;
      return [found === undefined ? `${name} is not installed.` : `${name} is ${found.state ?? 'unknown'}.`];
    }),
    ...services.flatMap(({ name, start }) => {
      const found = starts.get(name.toUpperCase());
      if (found === start || found === `${start} (delayed)`) return [];
      return [
        found === undefined
          ? `There is no service ${name}.`
          : `The service ${name} is ${found}, not ${start}.`,
      ];
    }),
    ...registry.flatMap(({ path, name, value }) => {
      const wanted = Array.isArray(value) ? value.join(', ') : String(value);
      const found = windows.registry.find((one) => same(one.path, path) && same(one.name, name));
      if (found !== undefined && same(found.value, wanted)) return [];
      return [`${path}\\${name} is ${found === undefined ? 'not set' : found.value}, not ${wanted}.`];
    }),
    ...recipe.components.flatMap((component) =>
      componentInputs(component, lock.inputs).flatMap(({ version, input }) => {
        const { name, to, private: secret } = component;
        if (to === undefined || input === undefined) return [];
        const who = secret === true ? 'A private component' : `${name} ${version}`;
        const found = paths.get(diskPath(substitute(to, { version }).text).toUpperCase());
        if (found === undefined) return [`${who} is not on the disk.`];
        const isOther =
          input.kind === 'binary' && found.sha256 !== undefined && found.sha256 !== input.sha256;
        return isOther ? [`${who} has another sha256 than the lock says.`] : [];
      }),
    ),
  ];
}

/** `C:\k\kubelet.exe` as the reader of the volume has it. */
export function diskPath(path: string): string {
  return path.replace(/^[A-Z]:/i, '').replaceAll('\\', '/');
}
