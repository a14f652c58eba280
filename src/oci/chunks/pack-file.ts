// Reads what a pack says of itself, and checks that it is true.
import { type FileHandle, open } from 'node:fs/promises';
import { readFully } from '../../disk/bytes/byte-source.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { systemCode } from '../../host/files/durable-files.ts';
import type { StoreContext } from '../layout/context.ts';
import type { Digest } from '../layout/digest.ts';
import type { StoredPack } from './chunk-index.ts';
import type { CheckResult } from './chunk-jobs.ts';
import { chunkHash } from './chunker.ts';
import type { IndexPack } from './disk-index.ts';
import { type PackCounts, PackTable, readTrailer, tableSize, trailerSize } from './pack-format.ts';
import type { ChunkPool } from './worker-pool.ts';

/** Reads the table of a pack and checks it; `store-corrupt` or `store-not-found` when it cannot be had. */
export async function readTable(store: StoreContext, pack: IndexPack): Promise<PackTable> {
  const size = tableSize(pack.chunks, pack.frames);
  const table = (await readEnd(store, pack.digest, pack.size, trailerSize + size)).subarray(0, size);
  if (chunkHash(table).toString('hex') === pack.table)
    return PackTable.parse(table, pack.chunks, pack.frames);
  throw new ImagoError('store-corrupt', `the table of pack ${pack.digest} is damaged`, {
    details: { blob: pack.digest },
  });
}

/** Returns the number of chunks and frames of a blob, or `undefined` if it is not a pack. */
export async function readCounts(
  store: StoreContext,
  digest: Digest,
  size: number,
): Promise<PackCounts | undefined> {
  return size < trailerSize ? undefined : readTrailer(await readEnd(store, digest, size, trailerSize), size);
}

/** Describes a pack that no index names, by its own table. */
export async function describePack(store: StoreContext, digest: Digest): Promise<StoredPack | undefined> {
  const size = await store.blobs.size(digest);
  const counts = size === undefined ? undefined : await readCounts(store, digest, size);
  if (size === undefined || counts === undefined) return undefined;
  const length = tableSize(counts.chunks, counts.frames);
  const table = (await readEnd(store, digest, size, trailerSize + length)).subarray(0, length);
  return { digest, size, ...counts, table: chunkHash(table).toString('hex') };
}

/** Reads a whole pack and checks it against a table; without one, only its digest is computed. */
async function checkPack(
  store: StoreContext,
  pool: ChunkPool,
  digest: Digest,
  table: PackTable | undefined,
): Promise<CheckResult> {
  const handle = await open(store.blobs.path(digest), 'r');
  try {
    return await pool.run('check', {
      packFd: handle.fd,
      table: new Uint8Array(table?.bytes ?? []),
      chunks: table?.count ?? 0,
      frames: table?.frameCount ?? 0,
    });
  } finally {
    await handle.close();
  }
}

/** Whether a pack is whole, and every chunk of it is what its table says: then it may be built upon. */
export async function isTruePack(store: StoreContext, pool: ChunkPool, pack: StoredPack): Promise<boolean> {
  const table = await readTable(store, pack).catch(() => undefined);
  if (table === undefined) return false;
  const checked = await checkPack(store, pool, pack.digest, table);
  return `sha256:${checked.sha256}` === pack.digest && checked.damaged.length === 0;
}

async function readEnd(store: StoreContext, digest: Digest, size: number, length: number): Promise<Buffer> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(store.blobs.path(digest), 'r');
    if ((await handle.stat()).size !== size) {
      throw new ImagoError('store-corrupt', `blob ${digest} does not have ${size} bytes`, {
        details: { blob: digest },
      });
    }
    return await readFully(handle, size - length, Buffer.alloc(length));
  } catch (error) {
    if (systemCode(error) !== 'ENOENT') throw error;
    throw new ImagoError('store-not-found', `the store has no blob ${digest}`, { details: { blob: digest } });
  } finally {
    await handle?.close();
  }
}
