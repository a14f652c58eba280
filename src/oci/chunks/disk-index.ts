// The index of one stored disk: its packs, and which of their chunks lie where. Chunks of a pack that follow
// each other on the disk are one run, so the index of a disk of many GiB has a few thousand bytes; hashes and
// lengths are in the packs' own tables, which versions share.
import { z } from 'zod';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { StoreContext } from '../layout/context.ts';
import { type Digest, isDigest } from '../layout/digest.ts';
import { encodeJson, type Manifest } from '../layout/manifest.ts';
import { mediaTypes } from '../layout/media-types.ts';
import { tableSize, trailerSize } from './pack-format.ts';

export interface IndexPack {
  readonly digest: Digest;
  readonly size: number;
  readonly chunks: number;
  readonly frames: number;
  /** sha256 of the pack's table, in hex. */
  readonly table: string;
}

/** `count` chunks of a pack from number `first` on, after `hole` zero bytes. */
export interface DiskRun {
  readonly hole: number;
  readonly pack: number;
  readonly first: number;
  readonly count: number;
}

export interface DiskIndex {
  readonly size: number;
  readonly packs: readonly IndexPack[];
  readonly runs: readonly DiskRun[];
}

const maxIndexSize = 256 * 1024 * 1024;
const numbersOfRun = 4;

const natural = z.int().nonnegative();
const schema = z.object({
  version: z.literal(1),
  size: natural,
  packs: z.array(
    z.object({
      digest: z.custom<Digest>((value) => typeof value === 'string' && isDigest(value)),
      size: natural,
      chunks: natural,
      frames: natural,
      table: z.string().regex(/^[0-9a-f]{64}$/),
    }),
  ),
  /** Four numbers a run, one after the other. */
  runs: z.array(natural),
});

export function encodeDiskIndex(index: DiskIndex): Buffer {
  return encodeJson({
    version: 1,
    size: index.size,
    packs: index.packs.map(({ digest, size, chunks, frames, table }) => ({
      digest,
      size,
      chunks,
      frames,
      table,
    })),
    runs: index.runs.flatMap((run) => [run.hole, run.pack, run.first, run.count]),
  } satisfies z.input<typeof schema>);
}

/** Throws `store-corrupt` when the index contradicts itself. */
export function parseDiskIndex(bytes: Uint8Array): DiskIndex {
  const parsed = schema.safeParse(parseJson(bytes));
  if (!parsed.success) throw invalid(parsed.error.issues[0]?.message ?? 'malformed');
  const { size, packs, runs: numbers } = parsed.data;
  if (numbers.length % numbersOfRun !== 0) throw invalid('a run is truncated');
  for (const pack of packs) {
    if (pack.size < trailerSize + tableSize(pack.chunks, pack.frames))
      throw invalid('a pack is too small for its chunks');
  }
  const runs: DiskRun[] = [];
  for (let at = 0; at < numbers.length; at += numbersOfRun) {
    const [hole = 0, pack = 0, first = 0, count = 0] = numbers.slice(at, at + numbersOfRun);
    const chunks = packs[pack]?.chunks;
    if (chunks === undefined || count === 0 || first + count > chunks)
      throw invalid('a run names chunks that are not there');
    runs.push({ hole, pack, first, count });
  }
  return { size, packs, runs };
}

export interface CollectedRun extends DiskRun {
  /** Of the disk, without the hole. */
  readonly bytes: number;
}

/** Collects where chunks lie, in the order of the disk, joining those that follow each other. */
export class RunCollector {
  readonly #runs: { hole: number; pack: number; first: number; count: number; bytes: number }[] = [];
  #end = 0;

  get runs(): readonly CollectedRun[] {
    return this.#runs;
  }

  add(offset: number, bytes: number, pack: number, first: number, count = 1): void {
    const hole = offset - this.#end;
    const last = this.#runs.at(-1);
    this.#end = offset + bytes;
    if (last !== undefined && hole === 0 && last.pack === pack && last.first + last.count === first) {
      last.count += count;
      last.bytes += bytes;
      return;
    }
    this.#runs.push({ hole, pack, first, count, bytes });
  }
}

function parseJson(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'));
  } catch (cause) {
    throw new ImagoError('store-corrupt', 'a disk index is not JSON', { cause });
  }
}

function invalid(why: string): ImagoError {
  return new ImagoError('store-corrupt', `a disk index is invalid: ${why}`);
}

/** Throws `store-corrupt` if the manifest has no index, or does not list a pack of it. */
export async function readDiskIndex(store: StoreContext, manifest: Manifest): Promise<DiskIndex> {
  const layer = manifest.layers.find((candidate) => candidate.mediaType === mediaTypes.diskIndex);
  if (layer === undefined) throw new ImagoError('store-corrupt', 'a disk manifest names no index');
  const index = parseDiskIndex(await store.blobs.readDescribed(layer, maxIndexSize));
  const named = new Map(manifest.layers.map((candidate) => [candidate.digest, candidate.size]));
  for (const pack of index.packs) {
    if (named.get(pack.digest) === pack.size) continue;
    throw new ImagoError('store-corrupt', `the index names pack ${pack.digest}, which its manifest does not`);
  }
  return index;
}
