// The inventory of a Windows image, read from its disk. Of a disk without a readable Windows, such as one of the
// simulation, it lists what the lock says went onto it, and reports that.

import type { ByteSource } from '../../disk/bytes/byte-source.ts';
import type { Extent } from '../../disk/bytes/extent.ts';
import type { FileEntry } from '../../disk/tree/file-tree.ts';
import { componentInputs, type Lock } from '../../domain/lock/lock.ts';
import { expandOne, substitute } from '../../domain/recipe/variables.ts';
import { installedPatches } from '../../domain/recipe/windows.ts';
import { type FileHashes, type HashFilesOptions, hashFiles } from '../hash-files.ts';
import { readContainerImages } from '../linux/container-images.ts';
import { readTree } from '../linux/disk-tree.ts';
import type { Inventory, InventoryFile, InventoryPatch, InventoryWindows } from '../model/inventory.ts';
import { compareLock, diskPath } from './compare-lock.ts';
import * as facts from './facts.ts';
import { findIdentities } from './findings.ts';
import type { WindowsSystem } from './system.ts';
import { readPackages } from './updates.ts';

export interface WindowsOptions extends HashFilesOptions {
  readonly lock?: Lock | undefined;
  /** Without it files are listed and not read. */
  readonly hash: boolean;
}

const nothing = {
  release: {},
  kernel: { version: '', installed: [], sha256: '', initrdSha256: '' },
  packages: [],
  units: [],
  settings: { sysctl: {}, modules: [], kernelArguments: [], users: [], groups: [] },
} as const;

const containerd = '/ProgramData/containerd/root';
/** They hold whole Windows trees, with hives of their own. */
const snapshots = `${containerd}/io.containerd.snapshotter.v1.windows/snapshots/`;

export async function readWindowsInventory(
  disk: Pick<ByteSource, 'size'>,
  system: WindowsSystem,
  options: WindowsOptions,
): Promise<Inventory> {
  const { files: reader } = system;
  const { lock } = options;
  const tree = await readTree(reader, { signal: options.signal });
  const entries = tree.entries.filter(({ path }) => !path.startsWith(snapshots));
  const hashes = options.hash ? await hashFiles(reader, entries, options) : new Map<number, FileHashes>();
  const files = entries.map((entry) => fileOf(entry, hashes));
  const version = facts.readVersion(system);
  const { patches, capabilities } = await readPackages(system);
  const recipe = lock === undefined ? undefined : expandOne(lock.recipe);
  const read = {
    source: 'disk' as const,
    version,
    features: facts.readFeatures(system),
    capabilities,
    patches: patches.map((patch) => withLocked(patch, lock)),
    ...facts.readServices(system),
    programs: facts.readPrograms(system),
    exclusions: facts.readExclusions(system),
    cachedFiles: lock === undefined ? [] : cachedFiles(lock, files),
    registry: facts.readRegistry(system, recipe?.windows?.registry ?? []),
    seal: facts.readSeal(system),
    findings: await findIdentities(system, entries),
  } satisfies InventoryWindows;
  return {
    format: 1,
    os: 'windows',
    system: systemName(version),
    distribution: 'windows',
    ...nothing,
    sizes: {
      diskBytes: disk.size,
      rootBytes: reader.totalBytes,
      usedBytes: reader.totalBytes - reader.freeBytes,
      fileBytes: [...new Map(entries.map(({ inode, size }) => [inode, size])).values()].reduce(
        (sum, size) => sum + size,
        0,
      ),
    },
    files,
    containerImages: await readContainerImages(tree, containerd),
    windows: { ...read, ...(lock !== undefined && { differences: compareLock(lock, read, files) }) },
  };
}

/** `Windows Server 2022 Datacenter (Server Core) 20348.5499`. */
function systemName({ product, installation, build, ubr }: NonNullable<InventoryWindows['version']>): string {
  const kind = installation === '' ? '' : ` (${installation})`;
  return `${product}${kind} ${build}${ubr === undefined ? '' : `.${ubr}`}`;
}

function fileOf(entry: FileEntry, hashes: ReadonlyMap<number, FileHashes>): InventoryFile {
  const { path, type, mode, uid, gid, size, mtime, link, unreadable } = entry;
  return {
    ...{ path, type, mode, uid, gid, size, mtime },
    ...(type === 'file' ? hashes.get(entry.inode) : undefined),
    ...(type === 'symlink' && { link }),
    ...(unreadable !== undefined && { unreadable }),
  };
}

function withLocked(patch: InventoryPatch, lock: Lock | undefined): InventoryPatch {
  const told = lock?.inputs.find(({ kind, name }) => kind === 'patch' && name === patch.kb);
  return told === undefined ? patch : { ...patch, class: told.version, sha256: told.sha256 };
}

/** Of the components of the lock, those whose file is on the disk, with the hash that it has there. */
function cachedFiles(lock: Lock, files: readonly InventoryFile[]): InventoryWindows['cachedFiles'] {
  const byPath = new Map(files.map((file) => [file.path.toUpperCase(), file]));
  return expandOne(lock.recipe).components.flatMap((component) =>
    componentInputs(component, lock.inputs).flatMap(({ version }) => {
      const place = diskPath(substitute(component.to ?? '', { version }).text);
      const found = byPath.get(place.toUpperCase());
      if (found === undefined || found.type !== 'file') return [];
      return [{ name: component.name, version, sha256: found.sha256 ?? '', sizeBytes: found.size }];
    }),
  );
}

export interface WindowsDisk {
  readonly size: number;
  /** Where it holds data. */
  readonly extents: readonly Extent[];
}

/** For a disk whose system cannot be read: what the lock says. */
export function lockedInventory(lock: Lock, { size, extents }: WindowsDisk): Inventory {
  const usedBytes = extents.reduce((sum, { length }) => sum + length, 0);
  const images = lock.inputs.filter(({ kind }) => kind === 'container-image');
  return {
    format: 1,
    os: 'windows',
    system: ['Windows', lock.recipe.base?.image].filter((part) => part !== undefined).join(', from '),
    distribution: 'windows',
    ...nothing,
    sizes: {
      diskBytes: size,
      rootBytes: size,
      usedBytes,
      fileBytes: usedBytes,
    },
    files: [],
    containerImages: images.map(({ name, sha256, sizeBytes }) => ({
      name,
      digest: `sha256:${sha256}`,
      sizeBytes,
      platform: `windows/${lock.recipe.architecture === 'x64' ? 'amd64' : lock.recipe.architecture}`,
      isPinned: lock.recipe.images?.find((image) => image.name === name)?.pinned === true,
    })),
    windows: lockedParts(lock),
  };
}

function lockedParts({ recipe, inputs }: Lock): InventoryWindows {
  const windows = expandOne(recipe).windows ?? {};
  const { features = [], services = [], registry = [] } = windows;
  const sha256Of = (kb: string) =>
    inputs.find(({ kind, name }) => kind === 'patch' && name === kb)?.sha256 ?? '';
  return {
    source: 'lock',
    features: [...features].sort(),
    patches: installedPatches(windows).map((patch) => ({
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
