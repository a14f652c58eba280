// Writes a stored disk to a file, with holes where the disk is zero. Every frame is checked on the way; the
// file appears under its name only when it is whole and flushed.

import { randomUUID } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { throwIfAborted } from '../../async/abort.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { nameFileError, publishFile } from '../../host/files/durable-files.ts';
import { requireSpace } from '../../host/files/free-space.ts';
import {
  bytesOfFrame,
  type DiskMap,
  damagedFrame,
  type FramePlaces,
  framePlaces,
  type MappedPack,
  readDiskMap,
} from '../chunks/disk-map.ts';
import { openChunkPool } from '../chunks/worker-pool.ts';
import { holdVersion, type StoreContext, worthThreads } from '../layout/context.ts';
import type { Digest } from '../layout/digest.ts';

export interface ExtractOptions {
  /**
   * Whether to wait until the file is on the disk, so that it is whole even after a power cut. Yes unless given;
   * tools like qemu-img and cp do not wait.
   */
  readonly flush?: boolean | undefined;
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

const framesOfJob = 4;
const jobsPerThread = 3;
const flushBytes = 64 * 1024 * 1024;
/** The unfinished files of this process. */
const unfinished = new Set<string>();

/**
 * Writes the version's raw disk to `path`; a file that is there is replaced, when all is well. `store-corrupt`
 * names the pack and the chunks that are damaged, `no-space` says how much is missing before anything is written.
 */
export async function extractDisk(
  store: StoreContext,
  digest: Digest,
  path: string,
  options: ExtractOptions = {},
): Promise<ExtractedDisk> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}.partial`);
  unfinished.add(temporary);
  try {
    return await store.owner.holding(async (hold) => {
      await holdVersion(store, digest, hold);
      const map = await readDiskMap(store, digest);
      const dataBytes = map.runs.reduce((sum, run) => sum + run.length, 0);
      await sweepPartial(path);
      await requireSpace(dirname(path), dataBytes, path);
      await writeDisk(store, map, dataBytes, temporary, options);
      await options.complete?.(temporary);
      await (options.flush === false ? rename(temporary, path) : publishFile(temporary, path));
      return { path, size: map.size, dataBytes };
    });
  } catch (error) {
    await rm(temporary, { force: true });
    throw nameFileError(error, `writing ${path}`);
  } finally {
    unfinished.delete(temporary);
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
  let flushed = 0;
  let flushing: Promise<void> | undefined;
  /** Reported once by the system: a later flush of the same file may succeed without what is lost. */
  let unflushed: unknown;

  /**
   * Flushed along the way, the end does not have to wait for all of it. One at a time: each waits for the journal of
   * the file system, which on a busy disk takes longer than the writing.
   */
  function flushSome(): void {
    if (options.flush === false || flushing !== undefined || written - flushed < flushBytes) return;
    flushed = written;
    flushing = out
      .datasync()
      .catch((error: unknown) => {
        unflushed ??= error;
      })
      .finally(() => {
        flushing = undefined;
      });
  }

  async function write(batch: readonly FramePlaces[], pack: MappedPack, packFd: number): Promise<void> {
    const frames = batch.map(({ frame, places }) => ({
      packOffset: pack.frameStarts[frame] ?? 0,
      storedLength: pack.chunkTable.storedLength(frame),
      storedHash: new Uint8Array(pack.chunkTable.storedHash(frame)),
      length: bytesOfFrame(pack, frame),
      places,
    }));
    const { damaged } = await pool.run('decode', { packFd, outFd: out.fd, frames });
    if (damaged !== undefined) throw damagedFrame(pack, batch[damaged]?.frame ?? 0);
    for (const { places } of batch) {
      for (let place = 0; place < places.length; place += 3) written += places[place + 1] ?? 0;
    }
    flushSome();
    options.onProgress?.({ written, total: dataBytes });
  }

  try {
    await out.truncate(map.size);
    for (const batch of batches(map)) {
      throwIfAborted(options.signal);
      const number = batch[0]?.pack ?? 0;
      const pack = map.packs[number];
      if (pack === undefined) throw new ImagoError('internal', `the disk has no pack ${number}`);
      const handle = packs.get(number) ?? (await open(store.blobs.path(pack.digest), 'r'));
      packs.set(number, handle);
      const job = write(batch, pack, handle.fd);
      job.catch(() => undefined);
      jobs.push(job);
      if (jobs.length >= pool.width * jobsPerThread) await jobs.shift();
    }
    await Promise.all(jobs);
    await flushing;
    if (unflushed !== undefined) throw unflushed;
  } finally {
    await pool.close();
    await flushing;
    for (const handle of packs.values()) await handle.close();
    await out.close();
  }
}

/** A few frames of the same pack at a time. */
function* batches(map: DiskMap): Generator<readonly FramePlaces[]> {
  let batch: FramePlaces[] = [];
  for (const frame of framePlaces(map)) {
    if (batch.length === framesOfJob || (batch[0] !== undefined && batch[0].pack !== frame.pack)) {
      yield batch;
      batch = [];
    }
    batch.push(frame);
  }
  if (batch.length > 0) yield batch;
}

/** Removes what extracts to the same path left when they were killed. */
async function sweepPartial(path: string): Promise<void> {
  const start = `.${basename(path)}.`;
  for (const name of await readdir(dirname(path))) {
    const leftover = join(dirname(path), name);
    if (!name.startsWith(start) || unfinished.has(leftover)) continue;
    if (/^[0-9a-f-]{36}\.partial$/.test(name.slice(start.length))) await rm(leftover, { force: true });
  }
}
