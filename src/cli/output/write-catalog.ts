// Writes the exported catalog to a new directory, then replaces the previous export. A directory that is not an export is
// never changed.
import { mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { CatalogDocument } from '../../domain/public-catalog/catalog.ts';
import type { ListedVersion } from '../../pages/catalog/page.ts';
import { catalogFrontPages, catalogVersionPage, listVersions } from '../../pages/catalog/site.ts';
import { type RecordFile, type RecordTexts, recordFiles } from '../../pages/catalog/version.ts';
import { unwritable } from './write-atomically.ts';

export interface CatalogSource {
  readRecord(path: {
    readonly image: string;
    readonly version: string;
    readonly record: RecordFile;
  }): Promise<AsyncIterable<Uint8Array>>;
  onVersion(done: number, total: number): void;
  readonly signal: AbortSignal;
}

const concurrency = 8;

export async function writeCatalog(
  folder: string,
  document: CatalogDocument,
  source: CatalogSource,
): Promise<{ readonly files: number; readonly versions: number }> {
  const target = resolve(folder);
  await sweep(target);
  await requireOwn(target);
  const fresh = `${target}.${process.pid}.new`;
  await makeFolder(fresh);
  let files = 0;
  let done = 0;
  async function write(path: string, text: string): Promise<void> {
    const whole = join(fresh, path);
    await mkdir(dirname(whole), { recursive: true });
    await writeFile(whole, text);
    files += 1;
  }
  const versions = listVersions(document);
  const left = [...versions];
  async function writeSome(): Promise<void> {
    for (let version = left.shift(); version !== undefined; version = left.shift()) {
      source.signal.throwIfAborted();
      const records = version.described ? await readRecords(version, source) : {};
      const { path, text } = catalogVersionPage(document, version, records);
      await write(path, text);
      for (const [kind, record] of Object.entries(records)) {
        await write(join(dirname(path), recordFiles[kind as RecordFile].file), record);
      }
      done += 1;
      source.onVersion(done, versions.length);
    }
  }
  try {
    for (const { path, text } of catalogFrontPages(document)) await write(path, text);
    const writers = Array.from({ length: concurrency }, writeSome);
    try {
      await Promise.all(writers);
    } finally {
      // A writer that is still at its file would bring the directory back after its removal.
      left.length = 0;
      await Promise.allSettled(writers);
    }
    await exchange(fresh, target);
  } catch (error) {
    await rm(fresh, { recursive: true, force: true });
    throw error;
  }
  return { files, versions: versions.length };
}

async function readRecords(version: ListedVersion, source: CatalogSource): Promise<RecordTexts> {
  const found: Partial<Record<RecordFile, string>> = {};
  for (const record of Object.keys(recordFiles) as RecordFile[]) {
    try {
      const content = await source.readRecord({
        image: version.image.name,
        version: version.version,
        record,
      });
      found[record] = (await buffer(content)).toString('utf8');
    } catch (thrown) {
      if (ensureImagoError(thrown).kind !== 'not-found') throw thrown;
    }
  }
  return found;
}

/** Not by `recursive`, which tries without end where the file system has directories that cannot be created. */
async function makeFolder(folder: string): Promise<void> {
  try {
    if ((await stat(dirname(folder)).catch(() => undefined)) === undefined) await makeFolder(dirname(folder));
    await mkdir(folder);
  } catch (thrown) {
    if (thrown instanceof ImagoError || (thrown as NodeJS.ErrnoException).code === 'EEXIST') throw thrown;
    throw unwritable(folder, thrown as Error);
  }
}

/** Accepts a missing or empty directory, and an earlier export. */
async function requireOwn(target: string): Promise<void> {
  const names = await readdir(target).catch((thrown: NodeJS.ErrnoException) => {
    if (thrown.code === 'ENOENT') return [];
    throw new ImagoError('file-exists', `${target} is not a readable directory.`, { cause: thrown });
  });
  if (names.length === 0) return;
  const text = await readFile(join(target, 'catalog.json'), 'utf8').catch(() => '{}');
  if (isCatalog(text)) return;
  throw new ImagoError('file-exists', `${target} does not contain an exported catalog.`, {
    hint: 'Choose an empty or new directory.',
  });
}

function isCatalog(text: string): boolean {
  try {
    const document: unknown = JSON.parse(text);
    return (
      typeof document === 'object' && document !== null && 'schemaVersion' in document && 'images' in document
    );
  } catch {
    return false;
  }
}

async function exchange(fresh: string, target: string): Promise<void> {
  const before = `${target}.${process.pid}.old`;
  const had = await rename(target, before).then(
    () => true,
    (thrown: NodeJS.ErrnoException) => {
      if (thrown.code === 'ENOENT') return false;
      throw thrown;
    },
  );
  try {
    await rename(fresh, target);
  } catch (error) {
    if (had) await rename(before, target);
    throw error;
  }
  await rm(before, { recursive: true, force: true });
}

/** Repairs what a killed export left behind, and ignores one that is still running. */
async function sweep(target: string): Promise<void> {
  const parent = dirname(target);
  const start = `${basename(target)}.`;
  for (const name of await readdir(parent).catch(() => [])) {
    const [, pid, kind] = name.startsWith(start)
      ? (/^(\d+)\.(new|old)$/.exec(name.slice(start.length)) ?? [])
      : [];
    if (pid === undefined || isRunning(Number(pid))) continue;
    const there = await stat(target).catch(() => undefined);
    if (kind === 'old' && there === undefined) await rename(join(parent, name), target);
    else await rm(join(parent, name), { recursive: true, force: true });
  }
}

/** Returns whether another process with that id is running. One with our own id is from an earlier process. */
function isRunning(pid: number): boolean {
  if (pid === process.pid) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}
