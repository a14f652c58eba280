// What decides whether a disk boots on other hardware: the drivers in its kernel, its modules and its initrd, and network
// cards that its configuration calls by name.
import type { BootParts } from '../../disk/boot/boot-parts.ts';
import { azureDrivers } from '../../domain/image-test/azure-checks.ts';
import type { InventoryBoot } from '../model/inventory.ts';
import type { DiskTree } from './disk-tree.ts';

export async function readBootFacts(
  tree: DiskTree,
  kernelVersion: string,
  boot: BootParts | undefined,
): Promise<InventoryBoot> {
  const folder = `/usr/lib/modules/${kernelVersion}/`;
  const builtIn = ((await tree.readText(`${folder}modules.builtin`)) ?? '').split('\n').map(moduleOf);
  const modules = tree.entries
    .filter(({ path }) => path.startsWith(folder))
    .map(({ path }) => moduleOf(path));
  const initrd = boot && initrdModules(boot.initrd);
  return {
    builtIn: watched(builtIn),
    modules: watched(modules),
    ...(initrd === undefined ? {} : { initrd: watched(initrd) }),
    namedCards: await namedCards(tree),
  };
}

function watched(names: readonly string[]): string[] {
  const found = new Set(names);
  return azureDrivers.filter((name) => found.has(name));
}

function moduleOf(path: string): string {
  return (/([^/]+)\.ko(?:\.\w+)?$/.exec(path)?.[1] ?? '').replaceAll('-', '_');
}

/** Only an archive that is not compressed shows its names, as those that Imago makes. */
function initrdModules(initrd: Buffer): readonly string[] | undefined {
  const found = azureDrivers.filter((name) =>
    [name, name.replaceAll('_', '-')].some((spelled) => initrd.includes(`/${spelled}.ko`)),
  );
  return initrd.includes('.ko\0') ? found : undefined;
}

/** Of the settings of the owner; those of packages are patterns, or for containers. */
async function namedCards(tree: DiskTree): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { path } of tree.list('/etc/systemd/network')) {
    if (!path.endsWith('.network')) continue;
    const match = /^\[Match\]$([^[]*)/m.exec((await tree.readText(path)) ?? '')?.[1] ?? '';
    const names = /^Name=(.*)$/m.exec(match)?.[1]?.split(/\s+/) ?? [];
    found.push(...names.filter(isCard));
  }
  const files = [
    '/etc/network/interfaces',
    ...tree.list('/etc/network/interfaces.d').map(({ path }) => path),
  ];
  for (const path of files) {
    for (const [, name = ''] of ((await tree.readText(path)) ?? '').matchAll(/^\s*iface\s+(\S+)/gm))
      if (isCard(name)) found.push(name);
  }
  return [...new Set(found)].sort();
}

function isCard(name: string): boolean {
  return /^(?:eth|en|ib)[\w.]*$/.test(name);
}
