// The bytes of an attribute: inside of its record, or in runs of clusters that may have holes or be compressed.
import { hash } from 'node:crypto';
import { type ByteSource, readBytes } from '../bytes/byte-source.ts';
import type { Extent } from '../bytes/extent.ts';
import { numberBytes, readRange, zerosOf } from '../tree/file-tree.ts';
import { unpackLznt1 } from './lznt1.ts';
import type { NtfsAttribute, OutsideValue, Run } from './record.ts';
import { type NtfsShape, ntfsInvalid } from './volume.ts';
import { unpackXpress } from './xpress.ts';

export interface Content {
  readonly size: number;
  /** Small content inside of the record. */
  readonly value?: Buffer;
  readonly written: number;
  readonly unit: number;
  readonly runs: readonly Run[];
  /** The system compressed it into another stream. */
  readonly packed?: { readonly stream: Content; readonly chunk: number };
}

/** Joins the parts of one attribute, which records share when its list of clusters is long. */
export function joinContent(parts: readonly NtfsAttribute[], record: number): Content {
  const [first] = parts;
  if (first?.value !== undefined) {
    return { size: first.value.length, value: first.value, written: 0, unit: 0, runs: [] };
  }
  const outside = parts
    .flatMap((part): OutsideValue[] => (part.outside === undefined ? [] : [part.outside]))
    .sort((a, b) => a.firstCluster - b.firstCluster);
  let next = 0;
  for (const { firstCluster, runs } of outside) {
    if (firstCluster !== next) throw ntfsInvalid(`record ${record} lacks a part of its list of clusters`);
    next += runs.reduce((sum, { length }) => sum + length, 0);
  }
  const { size = 0, written = 0, unit = 0 } = outside[0] ?? {};
  return { size, written, unit, runs: outside.flatMap(({ runs }) => runs) };
}

/** `content.size` bytes in all. A piece may be read until the next one is asked for. */
export async function* streamContent(
  source: ByteSource,
  shape: NtfsShape,
  content: Content,
): AsyncGenerator<Buffer> {
  if (content.packed !== undefined) {
    const { stream, chunk } = content.packed;
    yield* unpackXpress(await readContent(source, shape, stream), content.size, chunk);
    return;
  }
  if (content.value !== undefined) {
    if (content.size > 0) yield content.value;
    return;
  }
  const pieces = content.unit > 0 ? unpacked(source, shape, content) : plain(source, shape, content);
  let at = 0;
  for await (const piece of pieces) {
    if (at >= content.written) break;
    yield piece.subarray(0, content.written - at);
    at += piece.length;
  }
  yield* zerosOf(content.size - Math.min(at, content.written));
}

export async function readContent(source: ByteSource, shape: NtfsShape, content: Content): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for await (const piece of streamContent(source, shape, content)) pieces.push(piece);
  return pieces.length === 1 ? (pieces[0] ?? Buffer.alloc(0)) : Buffer.concat(pieces);
}

async function* plain(source: ByteSource, shape: NtfsShape, { runs, written }: Content) {
  let left = written;
  for (const { length, cluster } of runs) {
    const bytes = Math.min(length * shape.clusterSize, left);
    if (bytes <= 0) return;
    if (cluster === undefined) yield* zerosOf(bytes);
    else yield* readRange(source, cluster * shape.clusterSize, bytes);
    left -= bytes;
  }
}

/** A unit that has all its clusters is not compressed, one that has none is zeros. */
async function* unpacked(source: ByteSource, shape: NtfsShape, { runs, unit, written }: Content) {
  const { clusterSize } = shape;
  const size = unit * clusterSize;
  let left = written;
  for (const parts of unitsOf(runs, unit)) {
    if (left <= 0) return;
    const stored = parts.filter((run): run is Run & { cluster: number } => run.cluster !== undefined);
    const count = stored.reduce((sum, { length }) => sum + length, 0);
    const pieces: Buffer[] = [];
    for (const { cluster, length } of stored) {
      pieces.push(await readBytes(source, cluster * clusterSize, length * clusterSize));
    }
    const bytes = Buffer.concat(pieces);
    if (count === 0) yield* zerosOf(size);
    else yield count === unit ? bytes : unpackLznt1(bytes, size);
    left -= size;
  }
}

/** Runs cut so that each list holds one unit. A long hole is one unit of zeros after another, without a list for each. */
function* unitsOf(runs: readonly Run[], unit: number): Generator<readonly Run[]> {
  let [parts, room]: [Run[], number] = [[], unit];
  for (const { length, cluster } of runs) {
    let done = 0;
    while (done < length) {
      const take = Math.min(room, length - done);
      parts.push({ length: take, cluster: cluster === undefined ? undefined : cluster + done });
      done += take;
      room -= take;
      if (room > 0) continue;
      yield parts;
      [parts, room] = [[], unit];
    }
  }
  if (parts.length > 0) yield parts;
}

/** Where the content lies on the volume. Holes and what is inside of the record are left out. */
export function* contentExtents(
  { runs: own, packed }: Content,
  { clusterSize }: NtfsShape,
): Generator<Extent> {
  const runs = packed === undefined ? own : packed.stream.runs;
  for (const { length, cluster } of runs) {
    if (cluster !== undefined) yield { offset: cluster * clusterSize, length: length * clusterSize };
  }
}

/** See `FileTree.identify`. */
export function contentName(
  source: ByteSource,
  { clusterSize }: NtfsShape,
  { size, written, unit, value, runs, packed }: Content,
): string | undefined {
  if (source.identify === undefined || value !== undefined || packed !== undefined) return undefined;
  const parts: Buffer[] = [numberBytes(size, written, unit)];
  let at = 0;
  for (const { length, cluster } of runs) {
    const bytes = Math.min(length * clusterSize, Math.max(written - at, 0));
    if (cluster !== undefined && bytes > 0) {
      const kept = unit > 0 ? length * clusterSize : bytes;
      const name = source.identify(cluster * clusterSize, kept);
      parts.push(numberBytes(at, kept, name.length), name);
    }
    at += length * clusterSize;
  }
  return hash('sha256', Buffer.concat(parts));
}
