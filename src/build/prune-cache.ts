// Keeps the build cache within its limit: what was not used for the longest goes first, and what nobody went on with
// goes by its age. What a running build may be using is left alone.
import { readdir, readFile, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isFileLocked } from '../host/files/file-lock.ts';
import { isAbandoned } from '../host/process/owned-name.ts';

export interface CacheLimits {
  readonly maxBytes: number;
  /** Half-made downloads and locks that nobody went on with are removed after this. */
  readonly partialAgeMs: number;
  /** What was used more recently than this is never removed. */
  readonly inUseMs: number;
}

export const defaultCacheLimits: CacheLimits = {
  maxBytes: 30 * 1024 ** 3,
  partialAgeMs: 24 * 60 * 60 * 1000,
  inUseMs: 60 * 60 * 1000,
};

/** Small records that are of use for a long time are kept up to this number, the newest. */
const keptRecords = 1000;

export interface PruneReport {
  readonly bytesBefore: number;
  readonly bytesRemoved: number;
  readonly filesRemoved: number;
}

/** Removes a file or folder, whoever owns what is in it. Does nothing when there is none. */
export type RemovePath = (path: string) => Promise<void>;

/** What is removed as one. */
interface CachedThing {
  readonly paths: readonly string[];
  readonly bytes: number;
  readonly usedAt: number;
}

/** Bytes of all that counts towards the limit: inputs, layers, trees, tools, indexes and half-made downloads. */
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
      // It belongs to another user, whose own rounds remove it.
      return false;
    }
    bytesRemoved += bytes;
    filesRemoved += 1;
    return true;
  }

  for (const thing of await abandonedThings(cacheFolder, limits, now)) await remove(thing);
  for (const file of partial) {
    if (now - file.usedAt <= limits.partialAgeMs || isInUse(file)) continue;
    if (await remove(file)) left -= file.bytes;
  }
  for (const thing of lasting.sort((a, b) => a.usedAt - b.usedAt)) {
    if (left <= limits.maxBytes || now - thing.usedAt < limits.inUseMs) break;
    if (await remove(thing)) left -= thing.bytes;
  }
  for (const record of await lostRecords(cacheFolder, limits, now)) await remove(record);
  return { bytesBefore, bytesRemoved, filesRemoved };
}

/** Removes the files that killed processes left half made. Cheap: for the start of each piece of work. */
export async function sweepTemporary(cacheFolder: string): Promise<void> {
  const folder = join(cacheFolder, 'temporary');
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  for (const entry of entries) {
    if (entry.isFile() && isAbandoned(entry.name)) await rm(join(folder, entry.name), { force: true });
  }
}

async function lastingThings(cacheFolder: string): Promise<CachedThing[]> {
  return [
    ...(await filesBelow(join(cacheFolder, 'inputs'))),
    ...(await filesBelow(join(cacheFolder, 'layers', 'blobs'))),
    ...(await treesIn(cacheFolder)),
    ...(await foldersIn(join(cacheFolder, 'locked-tools'), 'ready')),
    ...(await foldersIn(join(cacheFolder, 'apt'), 'debian.sources')),
  ];
}

/** An unpacked tree is about as large as the archive that was made from it. */
async function treesIn(cacheFolder: string): Promise<CachedThing[]> {
  const trees: CachedThing[] = [];
  for (const owner of await readdir(join(cacheFolder, 'trees')).catch(() => [])) {
    const folder = join(cacheFolder, 'trees', owner);
    for (const mark of (await readdir(folder).catch(() => [])).filter((name) => name.endsWith('.mark'))) {
      const key = basename(mark, '.mark');
      const text = await readFile(join(cacheFolder, 'layers', 'keys', `${key}.json`), 'utf8').catch(
        () => '{}',
      );
      const usedAt = (await stat(join(folder, mark)).catch(() => undefined))?.mtimeMs ?? 0;
      trees.push({
        paths: [join(folder, mark), join(folder, key)],
        bytes: numberIn(text, 'sizeBytes'),
        usedAt,
      });
    }
  }
  return trees;
}

/** Folders that are used as a whole; the time of one file in each says when. */
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

/** What killed or forgotten work left behind. */
async function abandonedThings(
  cacheFolder: string,
  { partialAgeMs }: CacheLimits,
  now: number,
): Promise<readonly CachedThing[]> {
  const isOld = ({ usedAt }: CachedThing) => now - usedAt > partialAgeMs;
  const isDead = (thing: CachedThing) => isAbandoned(nameOf(thing));
  const locks = await entriesOf(join(cacheFolder, 'locks'));
  const sealed = await entriesOf(join(cacheFolder, 'sealed'));
  const drafts = [...locks, ...sealed, ...(await entriesOf(cacheFolder))].filter((thing) =>
    /\.json\.\d+$/.test(nameOf(thing)),
  );
  const tools = await entriesOf(join(cacheFolder, 'locked-tools'));
  const own = [
    ...(await entriesOf(join(cacheFolder, 'temporary'))),
    ...(await entriesOf(join(cacheFolder, 'work'))),
  ];
  const isLasting = (thing: CachedThing) => nameOf(thing).startsWith('built-');
  return [
    ...own.filter((thing) => isDead(thing) || isOld(thing)),
    ...drafts.filter(isOld),
    ...tools.filter((thing) => nameOf(thing).endsWith('.new') && isOld(thing)),
    ...locks.filter((thing) => !drafts.includes(thing) && !isLasting(thing) && isOld(thing)),
    ...beyond(locks.filter((thing) => !drafts.includes(thing) && isLasting(thing))),
    ...beyond(sealed.filter((thing) => !drafts.includes(thing))),
    ...beyond(await entriesOf(join(cacheFolder, 'verified'))),
    ...beyond(await entriesOf(join(cacheFolder, 'keys'))),
  ];
}

function beyond(records: readonly CachedThing[]): readonly CachedThing[] {
  return records.toSorted((a, b) => b.usedAt - a.usedAt).slice(keptRecords);
}

/** Records of layers whose content is gone, with what was locked for them. */
async function lostRecords(
  cacheFolder: string,
  { inUseMs }: CacheLimits,
  now: number,
): Promise<readonly CachedThing[]> {
  const keys = join(cacheFolder, 'layers', 'keys');
  const blobs = new Set(await readdir(join(cacheFolder, 'layers', 'blobs')).catch(() => []));
  const lost: CachedThing[] = [];
  for (const record of await entriesOf(keys)) {
    if (!nameOf(record).endsWith('.json') || now - record.usedAt < inUseMs) continue;
    const [path = ''] = record.paths;
    const sha256 = /"sha256":"([0-9a-f]{64})"/.exec(await readFile(path, 'utf8').catch(() => ''))?.[1];
    if (blobs.has(`${sha256}.tar`)) continue;
    const lock = join(keys, `${basename(path, '.json')}.lock`);
    if (!isFileLocked(lock)) lost.push({ ...record, paths: [path, lock] });
  }
  return lost;
}

/** A download that is going on holds the lock beside its file. */
function isInUse(thing: CachedThing): boolean {
  const [path = ''] = thing.paths;
  return isFileLocked(`${path.replace(/\.(?:json|lock)$/, '')}.lock`);
}

function nameOf({ paths }: CachedThing): string {
  return basename(paths[0] ?? '');
}

function sumOf(things: readonly CachedThing[]): number {
  return things.reduce((sum, { bytes }) => sum + bytes, 0);
}

function numberIn(text: string, field: string): number {
  return Number(new RegExp(`"${field}":(\\d+)`).exec(text)?.[1] ?? 0);
}

/** What stands in a folder itself; folders count nothing. */
async function entriesOf(folder: string): Promise<CachedThing[]> {
  const things: CachedThing[] = [];
  for (const name of await readdir(folder).catch(() => [])) {
    const path = join(folder, name);
    const found = await stat(path).catch(() => undefined);
    if (found === undefined) continue;
    things.push({ paths: [path], bytes: found.isFile() ? found.size : 0, usedAt: found.mtimeMs });
  }
  return things;
}

async function filesBelow(folder: string): Promise<CachedThing[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const files: CachedThing[] = [];
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const found = await stat(path).catch(() => undefined);
    if (found !== undefined) files.push({ paths: [path], bytes: found.size, usedAt: found.mtimeMs });
  }
  return files;
}

async function removeAll(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true });
}
