// Cleans a copy of a node's disk offline, by the checklist: without mounting it, without root rights, and without moving
// what stays. Deleted bytes do not survive.
import { type FileHandle, open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ChecklistItem } from '../../domain/capture/checklist.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { withWorkFolder } from '../../host/files/work-folder.ts';
import type { Environment } from '../../host/tools/tools.ts';
import { type ByteSource, openFileSource, partOf } from '../bytes/byte-source.ts';
import { readSuperblock } from '../ext4/superblock.ts';
import { cleanFat } from './clean-fat.ts';
import { type FileRewrite, pendingRewrites } from './demands.ts';
import { type DiskChecklist, findMounted, type PathFinders, readDiskChecklist } from './disk-checklist.ts';
import { type Ext4Tools, openExt4Tools } from './ext4-tools.ts';
import { type DiskPart, type MountedPart, openMounted, readParts, uncleanable } from './parts.ts';
import { scrubExt4 } from './scrub-ext4.ts';
import { writeZeros } from './zeroing.ts';

export interface CleanOptions {
  readonly items: readonly ChecklistItem[];
  readonly finders: PathFinders;
  /** Where a directory for temporary files is created and deleted. */
  readonly workFolder: string;
  readonly tools?: Environment | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface CleanedPath {
  readonly path: string;
  /** The ID of the checklist item. */
  readonly item: string;
}

export interface CleanReport {
  /** The topmost paths: what is below a removed directory is not listed. */
  readonly removed: readonly CleanedPath[];
  readonly rewritten: readonly CleanedPath[];
  /** Other names of removed files, which are removed too: the same secret under another name. */
  readonly otherNames: readonly string[];
}

/** Where the files of the EFI system partition are in the paths of the checklist, in lower case. */
export const efiMount = '/boot/efi';
const firstUserInode = 11;
const swapHeader = 4096;
const regularFile = 0o100000;

/**
 * Cleans a raw disk file in place. A second call changes no file. Throws `disk-uncleanable` for what it cannot clean,
 * `ext4-invalid` and `ext4-unclean` for damaged file systems, and `disk-clean-failed` if a demand does not hold at the
 * end. The disk is not to be used after an error.
 */
export async function cleanDisk(path: string, options: CleanOptions): Promise<CleanReport> {
  return withWorkFolder(options.workFolder, async (workFolder) => {
    const handle = await open(path, 'r+');
    const disk = await openFileSource(path);
    try {
      const report = await cleanParts({ path, handle, disk, workFolder, options });
      await handle.sync();
      return report;
    } finally {
      await disk.close();
      await handle.close();
    }
  });
}

interface Work {
  readonly path: string;
  readonly handle: FileHandle;
  readonly disk: ByteSource;
  readonly workFolder: string;
  readonly options: CleanOptions;
}

async function cleanParts(work: Work): Promise<CleanReport> {
  const { path, handle, disk, workFolder, options } = work;
  const parts = await readParts(disk);
  const systems = parts.filter(({ kind }) => kind === 'ext4');
  if (systems.length === 0) throw uncleanable('the disk has no ext4 file system');
  for (const part of systems) await readSuperblock(sourceOf(disk, part), { allowUnclean: true });
  const tools = new Map<DiskPart, Ext4Tools>();
  for (const part of systems) {
    const opened = await openExt4Tools(path, part, { ...options, workFolder });
    if (await isUnclean(sourceOf(disk, part))) await opened.replay();
    await opened.repair('safe');
    tools.set(part, opened);
  }

  const mounted = await openMounted(disk, parts);
  const list = await readDiskChecklist(mounted, options.items, options.finders);
  const rewrites = await pendingRewrites(mounted, list.items);
  const report = await removePaths(work, mounted, list, rewrites, tools);
  await writeFiles(workFolder, await openMounted(disk, parts), rewrites, tools);
  for (const [part, opened] of tools) {
    await opened.discard();
    await scrubExt4(handle, part.offset, sourceOf(disk, part), options.signal);
    await opened.requireIntact();
  }
  const efiRemoved = await cleanOthers(work, parts, list);
  await requireDone(await openMounted(disk, parts), list, options.signal);
  return { ...report, removed: [...report.removed, ...efiRemoved] };
}

async function isUnclean(source: ByteSource): Promise<boolean> {
  try {
    await readSuperblock(source);
    return false;
  } catch (error) {
    if (error instanceof ImagoError && error.code === 'ext4-unclean') return true;
    throw error;
  }
}

function sourceOf(disk: ByteSource, { offset, size }: DiskPart): ByteSource {
  return partOf(disk, offset, size);
}

async function removePaths(
  { options: { signal } }: Work,
  mounted: readonly MountedPart[],
  list: DiskChecklist,
  rewrites: readonly FileRewrite[],
  tools: ReadonlyMap<DiskPart, Ext4Tools>,
): Promise<CleanReport> {
  const removed: CleanedPath[] = [];
  const otherNames: string[] = [];
  const rewritten = new Set(rewrites.map(({ path }) => path));
  for (const { part, reader, mount } of mounted) {
    const match = list.match([...rewritten]);
    const inodes = new Set<number>();
    const linked: { path: string; inode: number }[] = [];
    const folders = new Set<string>();
    for await (const entry of reader.walk({ signal })) {
      const path = mount + (entry.path === '/' && mount !== '' ? '' : entry.path);
      const item = match({ path, type: entry.type });
      if (item === undefined || entry.inode < firstUserInode) {
        if (entry.links > 1 && entry.type !== 'directory') linked.push({ path, inode: entry.inode });
        continue;
      }
      inodes.add(entry.inode);
      if (entry.type === 'directory') folders.add(path);
      const isTopmost = !folders.has(path.slice(0, path.lastIndexOf('/')));
      if (isTopmost && !rewritten.has(path)) removed.push({ path, item: item.id });
    }
    otherNames.push(...linked.filter(({ inode }) => inodes.has(inode)).map(({ path }) => path));
    // Names of files are never part of a command. The repair drops the names whose inodes are cleared.
    await tools.get(part)?.change([...inodes].map((inode) => `clri <${inode}>`));
    await tools.get(part)?.repair('all');
  }
  return { removed, otherNames, rewritten: rewrites.map(({ path, item }) => ({ path, item: item.id })) };
}

/** The paths are those of the checklist, whose names are plain. */
async function writeFiles(
  workFolder: string,
  mounted: readonly MountedPart[],
  rewrites: readonly FileRewrite[],
  tools: ReadonlyMap<DiskPart, Ext4Tools>,
): Promise<void> {
  for (const { path, content, mode, uid, gid } of rewrites) {
    const slash = path.lastIndexOf('/');
    const folder = await findMounted(mounted, path.slice(0, slash));
    if (folder?.entry.type !== 'directory') throw uncleanable(`${path.slice(0, slash)} is not a directory`);
    const name = path.slice(slash + 1);
    await writeFile(join(workFolder, 'content'), content);
    await tools
      .get(folder.part.part)
      ?.change([
        `cd <${folder.entry.inode}>`,
        `write content ${name}`,
        `sif ${name} mode 0${(regularFile | mode).toString(8)}`,
        `sif ${name} uid ${uid}`,
        `sif ${name} gid ${gid}`,
      ]);
  }
}

async function cleanOthers(
  { handle, disk }: Work,
  parts: readonly DiskPart[],
  list: DiskChecklist,
): Promise<CleanedPath[]> {
  const removed: CleanedPath[] = [];
  const match = list.match();
  for (const part of parts) {
    const { kind, offset, size } = part;
    if (kind === 'swap') await writeZeros(handle, offset + swapHeader, size - swapHeader);
    if (kind !== 'fat') continue;
    await cleanFat(handle, offset, sourceOf(disk, part), (name) => {
      const path = efiMount + name.toLowerCase();
      const item = match({ path, type: 'file' });
      if (item !== undefined) removed.push({ path, item: item.id });
      return item !== undefined;
    });
  }
  return removed;
}

async function requireDone(
  mounted: readonly MountedPart[],
  list: DiskChecklist,
  signal: AbortSignal | undefined,
): Promise<void> {
  const left = (await pendingRewrites(mounted, list.items)).map(({ path }) => path);
  for (const { reader, mount } of mounted) {
    const match = list.match();
    for await (const { path, type, inode } of reader.walk({ signal })) {
      if (match({ path: mount + path, type }) !== undefined && inode >= firstUserInode)
        left.push(mount + path);
    }
  }
  if (left.length === 0) return;
  throw new ImagoError('disk-clean-failed', `${left.length} paths were not cleaned, the first is ${left[0]}`);
}
