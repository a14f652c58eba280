// The inventory of a Windows image. No disk of Windows can be read here: the lock says what went onto it, and
// the machine that built it checked that it did.
import type { Lock } from '../../domain/lock.ts';
import { orderPatches } from '../../domain/recipe-windows.ts';
import type { Inventory, InventoryWindows } from './inventory.ts';

export interface WindowsFacts {
  /** As the machine said: `Windows Server 2022 Datacenter, 20348.5499`. */
  readonly system: string;
  readonly diskBytes: number;
  readonly usedBytes: number;
}

export function windowsInventory(lock: Lock, facts: WindowsFacts): Inventory {
  const images = lock.inputs.filter(({ kind }) => kind === 'container-image');
  return {
    format: 1,
    os: 'windows',
    system: facts.system,
    distribution: 'windows',
    release: {},
    kernel: { version: '', installed: [], sha256: '', initrdSha256: '' },
    sizes: {
      diskBytes: facts.diskBytes,
      rootBytes: facts.diskBytes,
      usedBytes: facts.usedBytes,
      fileBytes: facts.usedBytes,
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
  const { features = [], patches = [], services = [], registry = [] } = recipe.windows ?? {};
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
