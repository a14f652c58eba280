// The inventory of a Windows image. No Windows disk is read here: it lists what the lock says went onto
// it, and how much of the disk holds data.

import type { Extent } from '../../disk/bytes/extent.ts';
import type { Lock } from '../../domain/lock/lock.ts';
import { expandOne } from '../../domain/recipe/variables.ts';
import { orderPatches } from '../../domain/recipe/windows.ts';
import type { Inventory, InventoryWindows } from '../model/inventory.ts';

export interface WindowsDisk {
  readonly size: number;
  /** Where it holds data. */
  readonly extents: readonly Extent[];
}

export function windowsInventory(lock: Lock, { size, extents }: WindowsDisk): Inventory {
  const usedBytes = extents.reduce((sum, { length }) => sum + length, 0);
  const images = lock.inputs.filter(({ kind }) => kind === 'container-image');
  return {
    format: 1,
    os: 'windows',
    system: ['Windows', lock.recipe.base?.image].filter((part) => part !== undefined).join(', from '),
    distribution: 'windows',
    release: {},
    kernel: { version: '', installed: [], sha256: '', initrdSha256: '' },
    sizes: {
      diskBytes: size,
      rootBytes: size,
      usedBytes,
      fileBytes: usedBytes,
    },
    packages: [],
    files: [],
    units: [],
    settings: { sysctl: {}, modules: [], kernelArguments: [], users: [], groups: [] },
    containerImages: images.map(({ name, sha256, sizeBytes }) => ({
      name,
      digest: `sha256:${sha256}`,
      sizeBytes,
      platform: `windows/${lock.recipe.architecture === 'x64' ? 'amd64' : lock.recipe.architecture}`,
      isPinned: lock.recipe.images?.find((image) => image.name === name)?.pinned === true,
    })),
    windows: windowsParts(lock),
  };
}

function windowsParts({ recipe, inputs }: Lock): InventoryWindows {
  const { features = [], patches = [], services = [], registry = [] } = expandOne(recipe).windows ?? {};
  const sha256Of = (kb: string) =>
    inputs.find(({ kind, name }) => kind === 'patch' && name === kb)?.sha256 ?? '';
  return {
    features: [...features].sort(),
    patches: orderPatches(patches).map((patch) => ({
      kb: patch.kb,
      class: patch.class,
      sha256: sha256Of(patch.kb),
    })),
    services: services.map(({ name, start }) => ({ name, start })),
    cachedFiles: inputs
      .filter(({ kind }) => kind === 'binary' || kind === 'files')
      .map(({ name, version, sha256, sizeBytes }) => ({ name, version, sha256, sizeBytes })),
    registry: registry.map(({ path, name, value }) => ({
      path,
      name,
      value: Array.isArray(value) ? value.join(', ') : String(value),
    })),
  };
}
