// Writes a stored disk to a file, with holes where the disk is zero. Every chunk is checked on the way; the
// file appears under its name only when it is whole and flushed.
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, rm, stat, statfs } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { ImagoError } from '../../domain/errors.ts';
import { throwIfAborted } from '../run-tool.ts';
import type { Digest } from './digest.ts';
import { type DiskMap, type MappedRun, pieces, readDiskMap } from './disk-map.ts';
import { isFileLocked } from './file-lock.ts';
import { renameDurably, storeError } from './files.ts';
import { tableRecordSize } from './pack-format.ts';
import { holdVersion, type StoreContext, worthThreads } from './store-context.ts';
import { openChunkPool } from './worker-pool.ts';

export interface ExtractOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?:
    | ((progress: { readonly written: number; readonly total: number }) => void)
    | undefined;
  /**
   * Called with the path of the whole file before it appears under its name, to add what belongs to its
   * format: a VHD's footer.
   */
  readonly complete?: ((path: string) => Promise<void>) | undefined;
}

export interface ExtractedDisk {
  readonly path: string;
  readonly size: number;
  /** Bytes written; the rest are holes. */
  readonly dataBytes: number;
}

const pieceBytes = 2 * 1024 * 1024;
const jobsPerThread = 3;
const leftoverAgeMs = 60_000;
let extracts = 0;

/**
 * Writes the version's raw disk to `path`; a file that is there is replaced, when all is well. `store-corrupt`
 * names the pack and chunk that is damaged, `no-space` says how much is missing before anything is written.
 */
export async function extractDisk(
  store: StoreContext,
  digest: Digest,
  path: string,
  options: ExtractOptions,
): Promise<ExtractedDisk> {
  const hold = store.session.hold();
  const temporary = join(dirname(path), `.${basename(path)}.${store.session.id}.${extracts++}.partial`);
  try {
    await holdVersion(store, digest, hold);
    const map = await readDiskMap(store, digest);
    const dataBytes = map.runs.reduce((sum, run) => sum + run.length, 0);
    await sweepPartial(store, path);
    await checkSpace(path, dataBytes);
    await writeDisk(store, map, dataBytes, temporary, options);
    await options.complete?.(temporary);
    await flush(temporary);
    await renameDurably(temporary, path);
    return { path, size: map.size, dataBytes };
  } catch (error) {
    await rm(temporary, { force: true });
    throw storeError(error, `writing ${path}`);
  } finally {
    hold.release();
  }
}

async function writeDisk(
  store: StoreContext,
  map: DiskMap,
  dataBytes: number,
  path: string,
  options: ExtractOptions,
): Promise<void> {
  const pool = openChunkPool(dataBytes < worthThreads ? 0 : store.threads);
  const packs = new Map<number, FileHandle>();
  const out = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC, 0o644);
  const jobs: Promise<void>[] = [];
  let written = 0;

  async function write(piece: MappedRun, packFd: number): Promise<void> {
    const pack = map.packs[piece.pack];
    if (pack === undefined) throw new ImagoError('internal', `the disk has no pack ${piece.pack}`);
    const from = piece.first * tableRecordSize;
    const { damaged } = await pool.run('decode', {
      packFd,
      packOffset: pack.starts[piece.first] ?? 0,
      table: pack.chunkTable.bytes.subarray(from, from + piece.count * tableRecordSize),
      outFd: out.fd,
      outOffset: piece.offset,
    });
    if (damaged !== undefined) {
      const chunk = piece.first + damaged;
      throw new ImagoError('store-corrupt', `chunk ${chunk} of pack ${pack.digest} is damaged`, {
        details: { blob: pack.digest, chunk },
      });
    }
    written += piece.length;
    options.onProgress?.({ written, total: dataBytes });
  }

  try {
    await out.truncate(map.size);
    for (const piece of pieces(map, pieceBytes)) {
      throwIfAborted(options.signal);
      const handle = packs.get(piece.pack) ?? (await openPack(store, map, piece.pack));
      packs.set(piece.pack, handle);
      const job = write(piece, handle.fd);
      job.catch(() => undefined);
      jobs.push(job);
      if (jobs.length >= pool.width * jobsPerThread) await jobs.shift();
    }
    await Promise.all(jobs);
  } finally {
    await pool.close();
    for (const handle of packs.values()) await handle.close();
    await out.close();
  }
}

async function openPack(store: StoreContext, map: DiskMap, number: number): Promise<FileHandle> {
  const digest = map.packs[number]?.digest;
  if (digest === undefined) throw new ImagoError('internal', `the disk has no pack ${number}`);
  return open(store.blobs.path(digest), 'r');
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function checkSpace(path: string, needed: number): Promise<void> {
  const { bavail, bsize } = await statfs(dirname(path));
  const free = bavail * bsize;
  if (free >= needed) return;
  throw new ImagoError('no-space', `${path} needs ${needed} bytes, and its file system has ${free} free`);
}

/** Removes what an extract to the same place left behind when it was killed. */
async function sweepPartial(store: StoreContext, path: string): Promise<void> {
  const start = `.${basename(path)}.`;
  for (const name of await readdir(dirname(path))) {
    if (!name.startsWith(start)) continue;
    const id = /^([0-9a-f-]{36})\.\d+\.partial$/.exec(name.slice(start.length))?.[1];
    if (id === undefined || isFileLocked(join(store.paths.sessions, id))) continue;
    const leftover = join(dirname(path), name);
    const { mtimeMs } = await stat(leftover).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (Date.now() - mtimeMs > leftoverAgeMs) await rm(leftover, { force: true });
  }
}
