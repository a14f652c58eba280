// A stored disk with all that is needed to find any byte of it: the index, the checked tables of its packs,
// and where on the disk each run of chunks begins.
import { ImagoError } from '../../domain/errors.ts';
import { type Extent, joinExtents } from '../extent.ts';
import type { Digest } from './digest.ts';
import type { DiskIndex, IndexPack } from './disk-index.ts';
import { readTable } from './load-catalogue.ts';
import type { Manifest } from './oci.ts';
import type { PackTable } from './pack-format.ts';
import { readDiskIndex, readDiskManifest, type StoreContext } from './store-context.ts';

export interface MappedPack extends IndexPack {
  readonly chunkTable: PackTable;
  /** Where each chunk begins in the pack; one more than there are chunks. */
  readonly starts: Float64Array;
}

export interface MappedRun {
  readonly pack: number;
  readonly first: number;
  readonly count: number;
  /** Where it begins on the disk, and how many bytes it has there. */
  readonly offset: number;
  readonly length: number;
}

export interface DiskMap {
  readonly digest: Digest;
  readonly manifest: Manifest;
  readonly size: number;
  readonly packs: readonly MappedPack[];
  readonly runs: readonly MappedRun[];
}

/** `store-not-found` when the store has no such version, `store-corrupt` when what describes it is damaged. */
export async function readDiskMap(store: StoreContext, digest: Digest): Promise<DiskMap> {
  const manifest = await readDiskManifest(store, digest);
  const index = await readDiskIndex(store, manifest);
  const packs: MappedPack[] = [];
  for (const pack of index.packs) packs.push(mapPack(pack, await readTable(store, pack)));
  return { digest, manifest, size: index.size, packs, runs: mapRuns(index, packs) };
}

export function mapPack(pack: IndexPack, chunkTable: PackTable): MappedPack {
  const starts = new Float64Array(chunkTable.count + 1);
  for (let index = 0; index < chunkTable.count; index += 1) {
    starts[index + 1] = (starts[index] ?? 0) + chunkTable.storedLength(index);
  }
  return { ...pack, chunkTable, starts };
}

function mapRuns(index: DiskIndex, packs: readonly MappedPack[]): MappedRun[] {
  let offset = 0;
  return index.runs.map(({ hole, pack, first, count }) => {
    offset += hole;
    let length = 0;
    for (let chunk = first; chunk < first + count; chunk += 1) {
      length += packs[pack]?.chunkTable.length(chunk) ?? 0;
    }
    const run = { pack, first, count, offset, length };
    offset += length;
    if (offset > index.size) throw new ImagoError('store-corrupt', 'a disk index has more than its disk');
    return run;
  });
}

/** The parts of the disk that hold data, in order. */
export function dataExtents(map: DiskMap): Extent[] {
  return [...joinExtents(map.runs)].map(({ offset, length }) => ({ offset, length }));
}

/** Cuts runs into pieces of at most about `bytes`, for work that is shared out. */
export function* pieces(map: DiskMap, bytes: number): Generator<MappedRun> {
  for (const run of map.runs) {
    const table = map.packs[run.pack]?.chunkTable;
    if (table === undefined) continue;
    let first = run.first;
    let offset = run.offset;
    let length = 0;
    for (let chunk = run.first; chunk < run.first + run.count; chunk += 1) {
      length += table.length(chunk);
      const isLast = chunk + 1 === run.first + run.count;
      if (length < bytes && !isLast) continue;
      yield { pack: run.pack, first, count: chunk + 1 - first, offset, length };
      first = chunk + 1;
      offset += length;
      length = 0;
    }
  }
}
