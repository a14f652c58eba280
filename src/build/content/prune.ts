// Keeps the build cache within its one limit: the content that was unused for the longest time is deleted first, and
// unfinished work by its age. Content that a running build can be using is left alone.
import { readdir, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isFileLocked } from '../../host/files/file-lock.ts';
import { isAbandoned } from '../../host/process/owned-name.ts';
import { readRecord } from './records.ts';

export interface CacheLimits {
  readonly maxBytes: number;
  /** The age at which unfinished downloads and other unfinished work are removed. */
  readonly partialAgeMs: number;
  /** What was used more recently than this is never removed. */
  readonly inUseMs: number;
}

export const defaultCacheLimits: CacheLimits = {
  maxBytes: 30 * 1024 ** 3,
  partialAgeMs: 24 * 60 * 60 * 1000,
  inUseMs: 60 * 60 * 1000,
};

/** The number of records of each kind that are retained, the newest ones. */
const maxRecords = 1000;

/** Directories of caches that earlier versions wrote. Nothing reads them. */
const earlierFolders = ['inputs', 'layers', 'locks', 'sealed', 'verified', 'keys'];

export interface PruneReport {
  readonly bytesBefore: number;
  readonly bytesRemoved: number;
  readonly filesRemoved: number;
}

/** Removes a file or directory, regardless of its owner. Does nothing if it does not exist. */
export type RemovePath = (path: string) => Promise<void>;

/** Files and directories that are removed together. */
interface CachedThing {
  readonly paths: readonly string[];
  readonly bytes: number;
  readonly usedAt: number;
}

/** Returns the bytes that count toward the limit: inputs, layers, trees, tools, indexes, files that clients sent, and
 * unfinished downloads. */
export async function cacheBytes(cacheFolder: string): Promise<number> {
  return sumOf([...(await lastingThings(cacheFolder)), ...(await filesBelow(join(cacheFolder, 'partial')))]);
}

/** A second call right after removes nothing. */
export async function pruneCache(
  cacheFolder: string,
  limits: CacheLimits,
  now: number,
  removePath: RemovePath = removeAll,
): Promise<PruneReport> {
  const lasting = await lastingThings(cacheFolder);
  const partial = await filesBelow(join(cacheFolder, 'partial'));
  const bytesBefore = sumOf([...lasting, ...partial]);
  let left = bytesBefore;
  let bytesRemoved = 0;
  let filesRemoved = 0;
  async function remove({ paths, bytes }: CachedThing): Promise<boolean> {
    try {
      for (const path of paths) await removePath(path);
    } catch {
      // It belongs to another user, whose own passes remove it.
      return false;
    }
    bytesRemoved += bytes;
    filesRemoved += 1;
    return true;
  }

  for (const thing of await forgottenThings(cacheFolder, limits, now)) await remove(thing);
  for (const file of partial) {
    if (now - file.usedAt <= limits.partialAgeMs || isFileLocked(downloadLock(file))) continue;
    if (await remove(file)) left -= file.bytes;
  }
  for (const thing of lasting.sort((a, b) => a.usedAt - b.usedAt)) {
    if (left <= limits.maxBytes || now - thing.usedAt < limits.inUseMs) break;
    if (await remove(thing)) left -= thing.bytes;
  }
  return { bytesBefore, bytesRemoved, filesRemoved };
}

/** Removes the files that killed processes left. Cheap enough for the start of each job. */
export async function sweepTemporary(cacheFolder: string): Promise<void> {
  const folder = join(cacheFolder, 'temporary');
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (entry.isFile() && isAbandoned(entry.name)) await rm(join(folder, entry.name), { force: true });
  }
}

async function lastingThings(cacheFolder: string): Promise<CachedThing[]> {
  return [
    ...(await filesBelow(join(cacheFolder, 'content'))),
    ...(await treesIn(cacheFolder)),
    ...(await foldersIn(join(cacheFolder, 'locked-tools'), 'ready')),
    ...(await foldersIn(join(cacheFolder, 'apt'), 'debian.sources')),
    ...(await foldersIn(join(cacheFolder, 'sent'), 'ready')),
  ];
}

/** An unpacked tree is about as large as the archive that was made from it. */
async function treesIn(cacheFolder: string): Promise<CachedThing[]> {
  const trees: CachedThing[] = [];
  for (const owner of await readdir(join(cacheFolder, 'trees')).catch(() => [])) {
    const folder = join(cacheFolder, 'trees', owner);
    const marks = (await entriesOf(folder)).filter((entry) => nameOf(entry).endsWith('.mark'));
    for (const { paths, usedAt } of marks) {
      const [mark = ''] = paths;
      const key = basename(mark, '.mark');
      const layer = await readRecord<{ sizeBytes: number }>(
        join(cacheFolder, 'content', 'keys', `${key}.json`),
      );
      trees.push({ paths: [mark, join(folder, key)], bytes: layer?.sizeBytes ?? 0, usedAt });
    }
  }
  return trees;
}

/** Directories that are used as a whole; the time of one file in each is the time of its last use. */
async function foldersIn(parent: string, mark: string): Promise<CachedThing[]> {
  const folders: CachedThing[] = [];
  for (const entry of await readdir(parent, { withFileTypes: true }).catch(() => [])) {
    const path = join(parent, entry.name);
    const marked = await stat(join(path, mark)).catch(() => undefined);
    if (!entry.isDirectory() || marked === undefined) continue;
    folders.push({ paths: [path], bytes: sumOf(await filesBelow(path)), usedAt: marked.mtimeMs });
  }
  return folders;
}

/** What killed or abandoned work left behind, and the oldest records. */
async function forgottenThings(
  cacheFolder: string,
  { partialAgeMs }: CacheLimits,
  now: number,
): Promise<readonly CachedThing[]> {
  const isOld = ({ usedAt }: CachedThing) => now - usedAt > partialAgeMs;
  const inFolders = async (...names: readonly string[]) =>
    (await Promise.all(names.map((name) => entriesOf(join(cacheFolder, name))))).flat();
  const locks = (await inFolders('content/keys', 'partial', 'locked-tools')).filter(isLock);
  const staged = (await inFolders('locked-tools')).filter((thing) => nameOf(thing).endsWith('.new'));
  const kinds = await readdir(join(cacheFolder, 'records')).catch(() => []);
  const records = await Promise.all(kinds.map((kind) => entriesOf(join(cacheFolder, 'records', kind))));
  return [
    ...(await inFolders('temporary', 'work')).filter((thing) => isAbandoned(nameOf(thing)) || isOld(thing)),
    ...[...staged, ...(await inFolders('records/locked', ...earlierFolders))].filter(isOld),
    ...locks.filter((lock) => isOld(lock) && !isFileLocked(lock.paths[0] ?? '')),
    ...records.flatMap((kind) => kind.toSorted((a, b) => b.usedAt - a.usedAt).slice(maxRecords)),
  ];
}

/** A download in progress holds the lock next to its file. */
function downloadLock({ paths: [path = ''] }: CachedThing): string {
  return `${path.replace(/\.json$/, '')}.lock`;
}

function isLock(thing: CachedThing): boolean {
  return nameOf(thing).endsWith('.lock');
}

function nameOf({ paths }: CachedThing): string {
  return basename(paths[0] ?? '');
}

function sumOf(things: readonly CachedThing[]): number {
  return things.reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Lists what is in a directory itself; directories have no bytes. */
async function entriesOf(folder: string): Promise<CachedThing[]> {
  const names = await readdir(folder).catch(() => []);
  return (await Promise.all(names.map((name) => thingAt(join(folder, name))))).flat();
}

/** Lists all files that are not locks. */
async function filesBelow(folder: string): Promise<CachedThing[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files = entries.filter((entry) => entry.isFile());
  const things = await Promise.all(files.map(({ parentPath, name }) => thingAt(join(parentPath, name))));
  return things.flat().filter((thing) => !isLock(thing));
}

async function thingAt(path: string): Promise<readonly CachedThing[]> {
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) return [];
  return [{ paths: [path], bytes: found.isFile() ? found.size : 0, usedAt: found.mtimeMs }];
}

async function removeAll(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
}
