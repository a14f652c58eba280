// Looks into a sealed disk and says what is on it. Reads the disk alone: the same disk gives the same inventory,
// wherever it came from.
import { hash } from 'node:crypto';
import { type BootParts, readBootParts } from '../disk/boot/boot-parts.ts';
import type { ByteSource } from '../disk/bytes/byte-source.ts';
import { type Ext4Entry, type Ext4Reader, openExt4 } from '../disk/ext4/reader.ts';
import { type DiskPartition, readPartitions } from '../disk/gpt/partitions.ts';
import { partitionTypes } from '../disk/gpt/table.ts';
import { ImagoError } from '../domain/error/imago-error.ts';
import type { Lock } from '../domain/lock/lock.ts';
import { type FileHashes, type HashFilesOptions, hashFiles } from './hash-files.ts';
import { readAgentFacts } from './linux/agent-facts.ts';
import { readBootFacts } from './linux/boot-facts.ts';
import { containerdRoot, readContainerImages } from './linux/container-images.ts';
import { readOwners, readPackages } from './linux/debian-packages.ts';
import { type DiskTree, nameOf, readTree } from './linux/disk-tree.ts';
import { parseAssignments, readSettings } from './linux/system-settings.ts';
import { readUnits } from './linux/systemd-units.ts';
import type { Inventory, InventoryFile, InventoryKernel } from './model/inventory.ts';
import { readWindowsInventory } from './windows/inventory.ts';
import { openWindows } from './windows/system.ts';

export interface ReadInventoryOptions {
  readonly signal?: AbortSignal;
  /** See `openExt4`: for disks of machines that were not stopped cleanly. */
  readonly allowUnclean?: boolean;
  /** See `HashFilesOptions`. */
  readonly known?: ReadonlyMap<string, FileHashes>;
  readonly named?: Map<string, FileHashes>;
  /** Without it files are listed and not read. Default: true. */
  readonly hash?: boolean;
  /** The lock that the disk was built from: what a Windows disk is compared with. */
  readonly lock?: Lock | undefined;
}

/**
 * The inventory of a disk without VHD footer, of Linux or Windows. Throws `inventory-invalid` when it has no system or
 * a database on it is damaged, and as the readers do: `gpt-invalid`, `ext4-invalid`, `ntfs-unclean`, `hive-unclean`, ….
 */
export async function readInventory(
  disk: ByteSource,
  options: ReadInventoryOptions = {},
): Promise<Inventory> {
  const windows = await openWindows(disk, options);
  if (windows !== undefined) return readWindowsInventory(disk, windows, { hash: true, ...options });
  const reader = await openRoot(disk, options);
  const isOurs = (await reader.find('/etc/imago-release')) !== undefined;
  const boot = await readBoot(disk, isOurs);
  return readRootInventory(reader, { ...options, diskBytes: disk.size, boot });
}

/** Disks that others made may start in ways that Imago does not know; on its own, a damaged start is an error. */
async function readBoot(disk: ByteSource, isOurs: boolean): Promise<BootParts | undefined> {
  try {
    return await readBootParts(disk);
  } catch (error) {
    if (!isOurs && error instanceof ImagoError && error.code === 'boot-files-invalid') return undefined;
    throw error;
  }
}

/** The root file system of a disk: that of the partition that says it is one, else the first ext4 with an /etc. */
export async function openRoot(disk: ByteSource, options: ReadInventoryOptions = {}): Promise<Ext4Reader> {
  const partitions = await readPartitions(disk);
  const open = ({ source }: DiskPartition) =>
    openExt4(source, { allowUnclean: options.allowUnclean === true });
  const named = partitions.find(({ type }) => type === partitionTypes.linuxRootX64);
  if (named !== undefined) return open(named);
  let refusal: ImagoError | undefined;
  for (const partition of partitions) {
    try {
      const reader = await open(partition);
      if ((await reader.find('/etc')) !== undefined) return reader;
    } catch (error) {
      if (!(error instanceof ImagoError)) throw error;
      if (error.code === 'ext4-unclean') refusal ??= error;
    }
  }
  throw (
    refusal ??
    new ImagoError(
      'inventory-invalid',
      'the disk has no root file system of Linux and no Windows that can be read',
    )
  );
}

export interface RootFacts extends HashFilesOptions {
  readonly diskBytes: number;
  /** What starts the system, where that is known. */
  readonly boot?: BootParts | undefined;
  readonly hash?: boolean;
}

/** As `readInventory`, for a root file system whose disk and boot program are known already. */
export async function readRootInventory(reader: Ext4Reader, facts: RootFacts): Promise<Inventory> {
  const tree = await readTree(reader, { signal: facts.signal });
  const hashes =
    facts.hash === false ? new Map<number, FileHashes>() : await hashFiles(reader, tree.entries, facts);
  const owners = await readOwners(tree);
  const osRelease = parseAssignments((await tree.readText('/etc/os-release')) ?? '');
  const { blocks, freeBlocks, blockSize } = reader.shape;
  const agent = await readAgentFacts(tree);
  const kernel = kernelOf(tree, facts.boot);
  const inodes = new Map(tree.entries.map(({ inode, size }) => [inode, size]));
  return {
    format: 1,
    os: 'linux',
    system: osRelease.PRETTY_NAME ?? '',
    distribution: osRelease.ID ?? '',
    release: parseAssignments((await tree.readText('/etc/imago-release')) ?? ''),
    kernel,
    sizes: {
      diskBytes: facts.diskBytes,
      rootBytes: blocks * blockSize,
      usedBytes: (blocks - freeBlocks) * blockSize,
      fileBytes: [...inodes.values()].reduce((sum, size) => sum + size, 0),
    },
    packages: await readPackages(tree),
    files: tree.entries.map((entry) => fileOf(entry, hashes, owners)),
    units: await readUnits(tree),
    settings: await readSettings(tree, facts.boot?.cmdline ?? ''),
    boot: await readBootFacts(tree, kernel.version, facts.boot),
    containerImages: await readContainerImages(tree, await containerdRoot(tree)),
    ...(agent === undefined ? {} : { agent }),
  };
}

function kernelOf(tree: DiskTree, boot: BootParts | undefined): InventoryKernel {
  const installed = tree
    .list('/usr/lib/modules')
    .filter(({ type }) => type === 'directory')
    .map(({ path }) => nameOf(path));
  const only = installed.length === 1 ? installed[0] : undefined;
  return {
    version: boot?.kernelVersion ?? only ?? '',
    installed,
    sha256: boot === undefined ? '' : hash('sha256', boot.kernel),
    initrdSha256: boot === undefined ? '' : hash('sha256', boot.initrd),
  };
}

function fileOf(
  entry: Ext4Entry,
  hashes: ReadonlyMap<number, FileHashes>,
  owners: ReadonlyMap<string, string>,
): InventoryFile {
  const { path, type, mode, uid, gid, size, mtime, link, device, attributes } = entry;
  const owner = owners.get(path);
  return {
    path,
    type,
    mode,
    uid,
    gid,
    size,
    mtime,
    ...(type === 'file' ? hashes.get(entry.inode) : undefined),
    ...(type === 'symlink' && { link }),
    ...(device !== undefined && { device: `${device.major}:${device.minor}` }),
    ...(attributes.size > 0 && { attributes: attributesOf(attributes) }),
    ...(owner !== undefined && { package: owner }),
  };
}

function attributesOf(attributes: ReadonlyMap<string, Buffer>): Record<string, string> {
  return Object.fromEntries([...attributes].sort().map(([name, value]) => [name, value.toString('hex')]));
}
