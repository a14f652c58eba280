// Reads every byte of a version again and says exactly what is damaged: which blob, and in a pack which
// chunk, where in the pack and where on the disk.
import { createHash } from 'node:crypto';
import { throwIfAborted } from '../../async/abort.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type DiskIndex, type IndexPack, readDiskIndex } from '../chunks/disk-index.ts';
import { type MappedPack, mapPack } from '../chunks/disk-map.ts';
import { checkPack, readTable } from '../chunks/pack-file.ts';
import { type ChunkPool, openChunkPool } from '../chunks/worker-pool.ts';
import { holdVersion, readDiskManifest, readManifestLike, type StoreContext } from '../layout/context.ts';
import { type Digest, hashFile } from '../layout/digest.ts';
import { contentOf, type Descriptor, type Manifest } from '../layout/manifest.ts';
import { annotationKeys, mediaTypes } from '../layout/media-types.ts';
import { attachedEntries } from '../layout/referrers.ts';
import { openDisk } from './open-disk.ts';

export interface DamagedChunk {
  readonly number: number;
  /** The frame of the pack that holds it. */
  readonly packOffset: number;
  readonly storedLength: number;
  /** Every place on the disk that it stands for. */
  readonly diskOffsets: readonly number[];
  readonly length: number;
}

export interface Damage {
  readonly blob: Digest;
  readonly role: 'manifest' | 'config' | 'index' | 'pack' | 'attachment' | 'disk';
  readonly kind: 'missing' | 'size' | 'content';
  /** For a pack: its chunks that are damaged. Empty when only its table or trailer is, or all of it is gone. */
  readonly chunks: readonly DamagedChunk[];
  /** The damage in words. */
  readonly message: string;
}

export interface VerifyReport {
  readonly digest: Digest;
  readonly damages: readonly Damage[];
  readonly bytesRead: number;
}

export interface VerifyOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?:
    | ((progress: { readonly bytesRead: number; readonly total: number }) => void)
    | undefined;
}

/** Checks a version, everything that is attached to it, and the sha256 of the raw disk. Changes nothing. */
export async function verifyDisk(
  store: StoreContext,
  digest: Digest,
  options: VerifyOptions,
): Promise<VerifyReport> {
  const hold = store.session.hold();
  try {
    const damages: Damage[] = [];
    await damagedOr(damages, 'manifest', digest, () => holdVersion(store, digest, hold));
    if (damages.length > 0) return { digest, damages, bytesRead: 0 };
    return await verifyParts(store, digest, await readDiskManifest(store, digest), options);
  } finally {
    hold.release();
  }
}

async function verifyParts(
  store: StoreContext,
  digest: Digest,
  manifest: Manifest,
  options: VerifyOptions,
): Promise<VerifyReport> {
  const damages: Damage[] = [];
  const total = contentOf({ kind: 'manifest', manifest }).reduce((sum, part) => sum + part.size, 0);
  let bytesRead = 0;
  const read = (bytes: number) => {
    throwIfAborted(options.signal);
    bytesRead += bytes;
    options.onProgress?.({ bytesRead, total });
  };

  await checkBlob(store, manifest.config, 'config', damages);
  read(manifest.config.size);
  const indexLayer = manifest.layers.find((layer) => layer.mediaType === mediaTypes.diskIndex);
  const index =
    indexLayer === undefined
      ? undefined
      : await damagedOr(damages, 'index', indexLayer.digest, () => readDiskIndex(store, manifest));
  read(indexLayer?.size ?? 0);
  await checkPacks(store, manifest, index, damages, read);
  await checkAttachments(store, digest, damages);
  if (damages.length === 0) await checkRawDisk(store, digest, manifest, damages, options.signal);
  return { digest, damages, bytesRead };
}

async function checkPacks(
  store: StoreContext,
  manifest: Manifest,
  index: DiskIndex | undefined,
  damages: Damage[],
  read: (bytes: number) => void,
): Promise<void> {
  const packs = manifest.layers.filter((layer) => layer.mediaType === mediaTypes.diskPack);
  const bytes = packs.reduce((sum, pack) => sum + pack.size, 0);
  const pool = openChunkPool(bytes < 4 * 1024 * 1024 ? 0 : store.threads);
  try {
    let next = 0;
    const worker = async () => {
      for (let pack = packs[next++]; pack !== undefined; pack = packs[next++]) {
        const { digest } = pack;
        const entry = index?.packs.find((candidate) => candidate.digest === digest);
        const damage = await packDamageOf(store, pool, pack, entry, index);
        if (damage !== undefined) damages.push(damage);
        read(pack.size);
      }
    };
    await Promise.all(Array.from({ length: pool.width }, worker));
  } finally {
    await pool.close();
  }
}

async function packDamageOf(
  store: StoreContext,
  pool: ChunkPool,
  pack: Descriptor,
  entry: IndexPack | undefined,
  index: DiskIndex | undefined,
): Promise<Damage | undefined> {
  const { digest } = pack;
  if ((await store.blobs.size(digest)) === undefined) {
    return packDamage(digest, 'missing', [], `pack ${digest} is missing`);
  }
  const table = entry === undefined ? undefined : await readTable(store, entry).catch(() => undefined);
  const checked = await checkPack(store, pool, digest, table);
  if (`sha256:${checked.sha256}` === digest && checked.damaged.length === 0) return undefined;
  if (checked.size !== pack.size) {
    return packDamage(digest, 'size', [], `pack ${digest} has ${checked.size} bytes, not ${pack.size}`);
  }
  if (entry === undefined || table === undefined || index === undefined) {
    return packDamage(digest, 'content', [], `the table of chunks in pack ${digest} is damaged`);
  }
  const mapped = mapPack(entry, table);
  const places = await placesOf(store, index, digest);
  const chunks = checked.damaged.map((number) => damagedChunk(mapped, number, places.get(number) ?? []));
  return packDamage(digest, 'content', chunks, describeChunks(digest, chunks));
}

function damagedChunk(pack: MappedPack, number: number, diskOffsets: readonly number[]): DamagedChunk {
  const frame = pack.chunkTable.frameOf(number);
  return {
    number,
    packOffset: pack.frameStarts[frame] ?? 0,
    storedLength: pack.chunkTable.storedLength(frame),
    diskOffsets,
    length: pack.chunkTable.length(number),
  };
}

function describeChunks(digest: Digest, chunks: readonly DamagedChunk[]): string {
  if (chunks.length === 0) return `the end of pack ${digest} is damaged`;
  const named = chunks
    .slice(0, 3)
    .map((chunk) => {
      const end = chunk.packOffset + chunk.storedLength;
      const where = chunk.diskOffsets.length === 0 ? '' : `, disk offset ${chunk.diskOffsets.join(' and ')}`;
      return `chunk ${chunk.number} (in bytes ${chunk.packOffset} to ${end}${where})`;
    })
    .join(', ');
  const more = chunks.length > 3 ? ` and ${chunks.length - 3} more` : '';
  return `${named}${more} of pack ${digest} ${chunks.length === 1 ? 'is' : 'are'} damaged`;
}

/** Where on the disk each chunk of a pack lies. Packs whose tables are damaged leave the rest unknown. */
async function placesOf(
  store: StoreContext,
  index: DiskIndex,
  digest: Digest,
): Promise<Map<number, number[]>> {
  const places = new Map<number, number[]>();
  const tables = await Promise.all(index.packs.map((pack) => readTable(store, pack).catch(() => undefined)));
  let offset = 0;
  for (const run of index.runs) {
    offset += run.hole;
    const table = tables[run.pack];
    if (table === undefined) return places;
    for (let chunk = run.first; chunk < run.first + run.count; chunk += 1) {
      if (index.packs[run.pack]?.digest === digest) places.set(chunk, [...(places.get(chunk) ?? []), offset]);
      offset += table.length(chunk);
    }
  }
  return places;
}

async function checkAttachments(store: StoreContext, digest: Digest, damages: Damage[]): Promise<void> {
  for (const referrer of await attachedEntries(store, digest)) {
    const parsed = await damagedOr(damages, 'attachment', referrer.digest, () =>
      readManifestLike(store, referrer.digest),
    );
    if (parsed === undefined || parsed.kind === 'index') continue;
    for (const part of contentOf(parsed)) await checkBlob(store, part, 'attachment', damages);
    await checkAttachments(store, referrer.digest, damages);
  }
}

async function checkBlob(
  store: StoreContext,
  part: Descriptor,
  role: Damage['role'],
  damages: Damage[],
): Promise<void> {
  const { digest } = part;
  const found = await hashFile(store.blobs.path(digest));
  if (found === digest) return;
  const kind = found === undefined ? 'missing' : 'content';
  const message = `${role} ${digest} is ${found === undefined ? 'missing' : 'damaged'}`;
  damages.push({ blob: digest, role, kind, chunks: [], message });
}

/** The last link: everything is as it was written, and what was written is the disk that was given. */
async function checkRawDisk(
  store: StoreContext,
  digest: Digest,
  manifest: Manifest,
  damages: Damage[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const expected = manifest.annotations?.[annotationKeys.diskSha256];
  const reader = await openDisk(store, digest);
  const hash = createHash('sha256');
  try {
    const buffer = Buffer.alloc(2 * 1024 * 1024);
    for (let at = 0; at < reader.size; at += buffer.length) {
      throwIfAborted(signal);
      const part = buffer.subarray(0, Math.min(buffer.length, reader.size - at));
      hash.update(await reader.read(at, part));
    }
  } finally {
    await reader.close();
  }
  const found = `sha256:${hash.digest('hex')}`;
  if (found === expected) return;
  const message = `the disk has the sha256 ${found}, and its manifest says ${expected}`;
  damages.push({ blob: digest, role: 'disk', kind: 'content', chunks: [], message });
}

async function damagedOr<T>(
  damages: Damage[],
  role: Damage['role'],
  blob: Digest,
  read: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!(error instanceof ImagoError)) throw error;
    if (error.code !== 'store-corrupt' && error.code !== 'store-not-found') throw error;
    const kind = error.code === 'store-not-found' ? 'missing' : 'content';
    damages.push({ blob, role, kind, chunks: [], message: `${role} ${blob}: ${error.message}` });
    return undefined;
  }
}

function packDamage(
  blob: Digest,
  kind: Damage['kind'],
  chunks: readonly DamagedChunk[],
  message: string,
): Damage {
  return { blob, role: 'pack', kind, chunks, message };
}
