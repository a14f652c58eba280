// The master file table, read once from its first record to its last. Folders follow from the parent that every name
// states, so that no index is needed and nothing on the volume can make the reader go in circles.
import { throwIfAborted } from '../../async/abort.ts';
import { type ByteSource, readBytes } from '../bytes/byte-source.ts';
import { type Content, contentExtents, joinContent, readContent } from './content.ts';
import {
  attributeName,
  attributePlaces,
  attributeTypes,
  type NtfsAttribute,
  readAttribute,
  residentLength,
  residentPlace,
  restoreRecord,
} from './record.ts';
import { type NtfsShape, ntfsInvalid, u64, unixSeconds } from './volume.ts';

export interface Mft {
  /** How many records it has room for. */
  readonly count: number;
  /** 1 in use, 2 a folder, 4 a reparse point, 8 encrypted, 16 compressed by the system (WOF), 32 to 128 by XPRESS. */
  readonly flags: Uint8Array;
  readonly sizes: Float64Array;
  readonly times: Float64Array;
  readonly sequences: Uint16Array;
  /** How many names lead to each record, without short ones. */
  readonly links: Uint16Array;
  /** All names: the record, its parent, and the sequence number of that. */
  readonly nameRecords: readonly number[];
  readonly nameParents: readonly number[];
  readonly nameSequences: readonly number[];
  readonly names: readonly string[];
  /** Named streams by record, in the order of their names. */
  readonly streams: ReadonlyMap<number, readonly NtfsStream[]>;
  /** The content of an attribute; `undefined` when the record has none of the kind. */
  content(record: number, type: number, name?: string): Promise<Content | undefined>;
}

export interface NtfsStream {
  readonly name: string;
  readonly size: number;
}

export const recordFlags = { used: 1, folder: 2, reparse: 4, encrypted: 8, wof: 16 } as const;
export const wofStream = 'WofCompressedData';
/** The flag of each algorithm of WOF that is read, and the bytes of its chunks. */
const xpressKinds = new Map([
  [0, { flag: 32, chunk: 4096 }],
  [2, { flag: 64, chunk: 8192 }],
  [3, { flag: 128, chunk: 16_384 }],
]);

/** `undefined` for a file that is not compressed by XPRESS. */
export function xpressChunk(flags: number): number | undefined {
  return [...xpressKinds.values()].find(({ flag }) => (flags & flag) !== 0)?.chunk;
}

const wofTag = 0x8000_0017;
const chunkBytes = 1024 * 1024;
const maxRecords = 20_000_000;
const maxParts = 4096;

export async function readMft(source: ByteSource, shape: NtfsShape, signal?: AbortSignal): Promise<Mft> {
  const { recordSize, clusterSize, clusters } = shape;
  const table = await readTableContent(source, shape);
  const count = Math.floor(Math.min(table.size, table.written) / recordSize);
  if (table.size > clusters * clusterSize || count < 6 || count > maxRecords) {
    throw ntfsInvalid(`its file table says that it has ${table.size} bytes`);
  }
  const extents = [...contentExtents(table, shape)];
  if (extents.reduce((sum, { length }) => sum + length, 0) < count * recordSize) {
    throw ntfsInvalid('its file table has a hole');
  }
  const flags = new Uint8Array(count);
  const sizes = new Float64Array(count);
  const times = new Float64Array(count);
  const sequences = new Uint16Array(count);
  const links = new Uint16Array(count);
  const nameRecords: number[] = [];
  const nameParents: number[] = [];
  const nameSequences: number[] = [];
  const names: string[] = [];
  const scratch = Buffer.alloc(256);
  const streams = new Map<number, NtfsStream[]>();
  /** The records that hold more attributes of a record, and the sequence number that they expect of it. */
  const parts = new Map<number, { readonly record: number; readonly sequence: number }[]>();

  function noteRecord(bytes: Buffer, number: number): void {
    if (!restoreRecord(bytes, number, shape)) return;
    const base = u64(bytes, 32) === 0 ? number : reference(bytes, 32);
    if (base >= count) throw ntfsInvalid(`record ${number} belongs to one that is not there`);
    sequences[number] = bytes.readUInt16LE(16);
    if (base === number) {
      flags[number] = recordFlags.used | ((bytes.readUInt16LE(22) & 2) === 0 ? 0 : recordFlags.folder);
    } else {
      const known = parts.get(base) ?? [];
      if (known.length >= maxParts) throw ntfsInvalid(`record ${base} has too many parts`);
      known.push({ record: number, sequence: bytes.readUInt16LE(38) });
      parts.set(base, known);
    }
    for (const at of attributePlaces(bytes, number)) noteAttribute(bytes, at, number, base);
  }

  function noteAttribute(bytes: Buffer, at: number, number: number, base: number): void {
    const type = bytes.readUInt32LE(at);
    const isOutside = bytes.readUInt8(at + 8) !== 0;
    if (type === attributeTypes.data) noteData(bytes, at, number, base, isOutside);
    if (type === attributeTypes.name && !isOutside) noteName(bytes, at, number, base);
    if (type === attributeTypes.reparse && isOutside) add(base, recordFlags.reparse);
    if (isOutside) return;
    if (type !== attributeTypes.standard && type !== attributeTypes.reparse) return;
    const start = residentPlace(bytes, at, number);
    const length = residentLength(bytes, at);
    if (type === attributeTypes.standard && length >= 36) times[base] = unixSeconds(bytes, start + 8);
    if (type === attributeTypes.reparse && length >= 8) {
      const isWof = bytes.readUInt32LE(start) === wofTag;
      add(base, isWof ? recordFlags.wof : recordFlags.reparse);
      if (isWof && length >= 24) add(base, xpressKinds.get(bytes.readUInt32LE(start + 20))?.flag ?? 0);
    }
  }

  function noteName(bytes: Buffer, at: number, number: number, base: number): void {
    const start = residentPlace(bytes, at, number);
    const length = residentLength(bytes, at);
    const characters = length < 68 ? 0 : bytes.readUInt8(start + 64);
    if (characters === 0 || 66 + characters * 2 > length) throw ntfsInvalid(`record ${number} has no name`);
    const isShort = bytes.readUInt8(start + 65) === 2;
    if (isShort) return;
    nameRecords.push(base);
    nameParents.push(reference(bytes, start));
    nameSequences.push(bytes.readUInt16LE(start + 6));
    names.push(readText(bytes, start + 66, characters, scratch));
    links[base] = (links[base] ?? 0) + 1;
  }

  function noteData(bytes: Buffer, at: number, number: number, base: number, isOutside: boolean): void {
    if (isOutside && bytes.readUInt32LE(at + 4) < 64) throw ntfsInvalid(`record ${number} has no clusters`);
    if (isOutside && u64(bytes, at + 16) !== 0) return;
    const size = isOutside ? u64(bytes, at + 48) : checkedLength(bytes, at, number);
    const name = attributeName(bytes, at, number);
    if ((bytes.readUInt16LE(at + 12) & 0x4000) !== 0) add(base, recordFlags.encrypted);
    if (name === '') sizes[base] = size;
    else if (name === wofStream) add(base, recordFlags.wof);
    else {
      const known = streams.get(base) ?? [];
      if (!known.some((other) => other.name === name)) known.push({ name, size });
      streams.set(
        base,
        known.sort((a, b) => (a.name < b.name ? -1 : 1)),
      );
    }
  }

  function add(record: number, flag: number): void {
    flags[record] = (flags[record] ?? 0) | flag;
  }

  let number = 0;
  const buffer = Buffer.allocUnsafeSlow(chunkBytes);
  const views = Array.from({ length: chunkBytes / recordSize }, (_, index) =>
    buffer.subarray(index * recordSize, (index + 1) * recordSize),
  );
  for (const { offset, length } of extents) {
    for (let at = 0; at < length && number < count; ) {
      throwIfAborted(signal);
      const size = Math.min(chunkBytes, length - at);
      await source.read(offset + at, buffer.subarray(0, size));
      if (size % recordSize !== 0) throw ntfsInvalid('a record of its file table is cut in two');
      for (let index = 0; index < size / recordSize && number < count; index += 1) {
        const view = views[index];
        if (view !== undefined) noteRecord(view, number);
        number += 1;
      }
      at += size;
    }
  }

  function placeOf(record: number): number {
    let left = record * recordSize;
    for (const { offset, length } of extents) {
      if (left < length) return offset + left;
      left -= length;
    }
    throw ntfsInvalid(`record ${record} is not there`);
  }

  return {
    ...{
      count,
      flags,
      sizes,
      times,
      sequences,
      links,
      nameRecords,
      nameParents,
      nameSequences,
      names,
      streams,
    },
    async content(record, type, name = '') {
      const found: NtfsAttribute[] = [];
      const more = (parts.get(record) ?? []).filter(({ sequence }) => sequence === sequences[record]);
      for (const holder of [record, ...more.map((part) => part.record)]) {
        const bytes = await readBytes(source, placeOf(holder), recordSize);
        if (!restoreRecord(bytes, holder, shape)) throw ntfsInvalid(`record ${holder} is not in use`);
        for (const at of attributePlaces(bytes, holder)) {
          if (bytes.readUInt32LE(at) !== type || attributeName(bytes, at, holder) !== name) continue;
          found.push(readAttribute(bytes, at, holder, shape));
        }
      }
      return found.length === 0 ? undefined : joinContent(found, record);
    },
  };
}

/** A text of 16-bit units. Most names are Latin, and take half the memory as such. */
function readText(bytes: Buffer, start: number, units: number, scratch: Buffer): string {
  for (let index = 0; index < units; index += 1) {
    if (bytes[start + index * 2 + 1] !== 0) return bytes.toString('utf16le', start, start + units * 2);
    scratch[index] = bytes[start + index * 2] ?? 0;
  }
  return scratch.toString('latin1', 0, units);
}

function checkedLength(bytes: Buffer, at: number, number: number): number {
  residentPlace(bytes, at, number);
  return residentLength(bytes, at);
}

function reference(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt16LE(at + 4) * 2 ** 32;
}

/** The content of the table itself. When its list of clusters is long, its later parts are in records of its first part. */
async function readTableContent(source: ByteSource, shape: NtfsShape): Promise<Content> {
  const { recordSize, clusterSize, mftCluster } = shape;
  const first = await readBytes(source, mftCluster * clusterSize, recordSize);
  if (!restoreRecord(first, 0, shape)) throw ntfsInvalid('its file table has no first record');
  const all = attributePlaces(first, 0).map((at) => readAttribute(first, at, 0, shape));
  const data = all.filter(({ type, name }) => type === attributeTypes.data && name === '');
  const list = all.find(({ type }) => type === attributeTypes.list);
  if (data.length === 0) throw ntfsInvalid('its file table has no content');
  if (list === undefined) return joinContent(data, 0);
  const entries = await readContent(source, shape, joinContent([list], 0));
  for (let at = 0; at + 26 <= entries.length; ) {
    const length = entries.readUInt16LE(at + 4);
    if (length < 26) break;
    const record = reference(entries, at + 16);
    if (entries.readUInt32LE(at) === attributeTypes.data && record !== 0) {
      const bytes = await readFrom(source, shape, joinContent(data, 0), record);
      for (const place of attributePlaces(bytes, record)) {
        const attribute = readAttribute(bytes, place, record, shape);
        if (attribute.type === attributeTypes.data && attribute.name === '') data.push(attribute);
      }
    }
    at += length;
    if (data.length > maxParts) throw ntfsInvalid('its file table has too many parts');
  }
  return joinContent(data, 0);
}

async function readFrom(
  source: ByteSource,
  shape: NtfsShape,
  known: Content,
  record: number,
): Promise<Buffer> {
  let left = record * shape.recordSize;
  for (const { offset, length } of contentExtents(known, shape)) {
    if (left < length) {
      const bytes = await readBytes(source, offset + left, shape.recordSize);
      if (restoreRecord(bytes, record, shape)) return bytes;
      break;
    }
    left -= length;
  }
  throw ntfsInvalid(`record ${record} of its file table is not there`);
}
