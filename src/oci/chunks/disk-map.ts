// A stored disk with all that is needed to find any byte of it: the index, the checked tables of its packs,
// and where on the disk each run of chunks begins.

import { type Extent, joinExtents } from '../../disk/bytes/extent.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { readDiskManifest, type StoreContext } from '../layout/context.ts';
import type { Digest } from '../layout/digest.ts';
import type { Manifest } from '../layout/manifest.ts';
import { type DiskIndex, type IndexPack, readDiskIndex } from './disk-index.ts';
import { readTable } from './pack-file.ts';
import type { PackTable } from './pack-format.ts';

export interface MappedPack extends IndexPack {
  readonly chunkTable: PackTable;
  /** Where each frame begins in the pack. */
  readonly frameStarts: Float64Array;
  /** The first chunk of each frame; one more than there are frames. */
  readonly frameChunks: Uint32Array;
  /** Bytes of disk in all chunks before each one; one more than there are chunks. */
  readonly chunkStarts: Float64Array;
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
  const frameStarts = new Float64Array(chunkTable.frameCount + 1);
  const frameChunks = new Uint32Array(chunkTable.frameCount + 1);
  for (let frame = 0; frame < chunkTable.frameCount; frame += 1) {
    frameStarts[frame + 1] = (frameStarts[frame] ?? 0) + chunkTable.storedLength(frame);
    frameChunks[frame + 1] = (frameChunks[frame] ?? 0) + chunkTable.chunksOf(frame);
  }
  const chunkStarts = new Float64Array(chunkTable.count + 1);
  for (let chunk = 0; chunk < chunkTable.count; chunk += 1) {
    chunkStarts[chunk + 1] = (chunkStarts[chunk] ?? 0) + chunkTable.length(chunk);
  }
  return { ...pack, chunkTable, frameStarts, frameChunks, chunkStarts };
}

/** Bytes of disk in the chunks `from` up to, not including, `to`. */
function bytesBetween({ chunkStarts }: MappedPack, from: number, to: number): number {
  return (chunkStarts[to] ?? 0) - (chunkStarts[from] ?? 0);
}

/** Bytes of disk in the chunks of a frame, all of them or those before `chunk`. */
export function bytesOfFrame(
  pack: MappedPack,
  frame: number,
  chunk = pack.frameChunks[frame + 1] ?? 0,
): number {
  return bytesBetween(pack, pack.frameChunks[frame] ?? 0, chunk);
}

function mapRuns(index: DiskIndex, packs: readonly MappedPack[]): MappedRun[] {
  let offset = 0;
  return index.runs.map(({ hole, pack, first, count }) => {
    offset += hole;
    const mapped = packs[pack];
    const length = mapped === undefined ? 0 : bytesBetween(mapped, first, first + count);
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

/** A frame of a pack, and where on the disk which of its bytes go. */
export interface FramePlaces {
  readonly pack: number;
  readonly frame: number;
  /** Three numbers each: from where in the frame, how many bytes, to where on the disk. */
  readonly places: readonly number[];
}

/**
 * The disk frame by frame, in its order. A frame whose chunks are used in several places near each other comes
 * once with all of them; one that is used again much later comes again.
 */
export function* framePlaces(map: DiskMap): Generator<FramePlaces> {
  let open: { pack: number; frame: number; places: number[] } | undefined;
  for (const run of map.runs) {
    const pack = map.packs[run.pack];
    if (pack === undefined) continue;
    let offset = run.offset;
    for (let chunk = run.first; chunk < run.first + run.count; ) {
      const frame = pack.chunkTable.frameOf(chunk);
      const end = Math.min(run.first + run.count, pack.frameChunks[frame + 1] ?? 0);
      const length = bytesBetween(pack, chunk, end);
      if (open?.pack !== run.pack || open.frame !== frame) {
        if (open !== undefined) yield open;
        open = { pack: run.pack, frame, places: [] };
      }
      open.places.push(bytesOfFrame(pack, frame, chunk), length, offset);
      offset += length;
      chunk = end;
    }
  }
  if (open !== undefined) yield open;
}

/** Bytes of one frame as they lie on the disk. */
export interface FramePiece {
  readonly pack: number;
  readonly frame: number;
  /** From where in the frame, how many bytes, and where on the disk they begin. */
  readonly from: number;
  readonly length: number;
  readonly offset: number;
}

/** What of the disk between two places holds data, in order. Everything else there is zero. */
export function* piecesBetween(map: DiskMap, start: number, end: number): Generator<FramePiece> {
  for (let number = firstRunAt(map.runs, start); number < map.runs.length; number += 1) {
    const run = map.runs[number];
    if (run === undefined || run.offset >= end) return;
    const pack = map.packs[run.pack];
    if (pack === undefined) throw new ImagoError('internal', `the disk has no pack ${run.pack}`);
    const last = Math.min(end, run.offset + run.length);
    for (let offset = Math.max(start, run.offset); offset < last; ) {
      const inPack = (pack.chunkStarts[run.first] ?? 0) + offset - run.offset;
      const frame = pack.chunkTable.frameOf(lastAtOrBefore(pack.chunkStarts, inPack, run.first));
      const frameStart = pack.chunkStarts[pack.frameChunks[frame] ?? 0] ?? 0;
      const frameEnd = pack.chunkStarts[pack.frameChunks[frame + 1] ?? 0] ?? 0;
      const length = Math.min(last - offset, frameEnd - inPack);
      if (length <= 0) throw new ImagoError('store-corrupt', `the table of pack ${pack.digest} is damaged`);
      yield { pack: run.pack, frame, from: inPack - frameStart, length, offset };
      offset += length;
    }
  }
}

function firstRunAt(runs: readonly MappedRun[], position: number): number {
  let low = 0;
  let high = runs.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const run = runs[middle];
    if (run !== undefined && run.offset + run.length <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The last of the ascending numbers, from `first` on, that is not above `value`. */
function lastAtOrBefore(numbers: Float64Array, value: number, first: number): number {
  let low = first;
  let high = numbers.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >>> 1;
    if ((numbers[middle] ?? 0) <= value) low = middle;
    else high = middle - 1;
  }
  return low;
}

export function damagedFrame(pack: MappedPack, frame: number): ImagoError {
  const first = pack.frameChunks[frame] ?? 0;
  const last = (pack.frameChunks[frame + 1] ?? 0) - 1;
  const which = first === last ? `chunk ${first}` : `one of the chunks ${first} to ${last}`;
  return new ImagoError('store-corrupt', `${which} of pack ${pack.digest} is damaged`, {
    details: { blob: pack.digest, firstChunk: first, lastChunk: last },
  });
}
