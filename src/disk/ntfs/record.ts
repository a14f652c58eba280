// One record of the master file table: its fix-ups, its attributes, and the runs of clusters that these list.
import { type NtfsShape, ntfsInvalid, u64 } from './volume.ts';

export const attributeTypes = {
  standard: 0x10,
  list: 0x20,
  name: 0x30,
  volume: 0x70,
  data: 0x80,
  reparse: 0xc0,
  end: 0xffff_ffff,
} as const;

export interface NtfsAttribute {
  readonly type: number;
  readonly name: string;
  /** 1 compressed, 0x4000 encrypted, 0x8000 sparse. */
  readonly flags: number;
  /** Absent when the content lies outside of the record. */
  readonly value?: Buffer;
  readonly outside?: OutsideValue;
}

export interface OutsideValue {
  readonly firstCluster: number;
  readonly size: number;
  /** What lies behind it was never written and reads as zeros. */
  readonly written: number;
  /** Clusters that are compressed together; 0 for none. */
  readonly unit: number;
  readonly runs: readonly Run[];
}

export interface Run {
  readonly length: number;
  /** `undefined` is a hole. */
  readonly cluster: number | undefined;
}

const u32 = (bytes: Buffer, at: number) => bytes.readUInt32LE(at);
const u16 = (bytes: Buffer, at: number) => bytes.readUInt16LE(at);

/** Whether the bytes are a record in use, with its fix-ups put back in place. Throws for one that is torn. */
export function restoreRecord(bytes: Buffer, number: number, { stride }: NtfsShape): boolean {
  const magic = u32(bytes, 0);
  if (magic === 0x4441_4142) throw ntfsInvalid(`record ${number} is marked as damaged`);
  if (magic !== 0x454c_4946 || (u16(bytes, 22) & 1) === 0) return false;
  const [at, count] = [u16(bytes, 4), u16(bytes, 6)];
  if (count !== bytes.length / stride + 1 || at < 40 || at + count * 2 > stride - 2) {
    throw ntfsInvalid(`record ${number} has impossible fix-ups`);
  }
  const mark = u16(bytes, at);
  for (let index = 1; index < count; index += 1) {
    const end = index * stride - 2;
    if (u16(bytes, end) !== mark) throw ntfsInvalid(`record ${number} was written only in part`);
    bytes.writeUInt16LE(u16(bytes, at + index * 2), end);
  }
  return true;
}

/** Where each attribute of a restored record begins. Every one lies inside of the record. */
export function attributePlaces(bytes: Buffer, number: number): number[] {
  const places: number[] = [];
  let at = u16(bytes, 20);
  const end = Math.min(u32(bytes, 24), bytes.length);
  while (at + 8 <= end) {
    if (u32(bytes, at) === attributeTypes.end) return places;
    const length = u32(bytes, at + 4);
    if (length < 24 || length % 8 !== 0 || at + length > end) break;
    places.push(at);
    at += length;
  }
  throw ntfsInvalid(`record ${number} has an attribute without an end`);
}

/** Where the value of a resident attribute begins; its length is `residentLength`. */
export function residentPlace(bytes: Buffer, at: number, number: number): number {
  const length = residentLength(bytes, at);
  const offset = u16(bytes, at + 20);
  if (offset < 24 || offset + length > u32(bytes, at + 4)) {
    throw ntfsInvalid(`record ${number} has a value outside of its attribute`);
  }
  return at + offset;
}

export function residentLength(bytes: Buffer, at: number): number {
  return u32(bytes, at + 16);
}

export function attributeName(bytes: Buffer, at: number, number: number): string {
  const length = bytes.readUInt8(at + 9) * 2;
  if (length === 0) return '';
  const start = u16(bytes, at + 10);
  if (start + length > u32(bytes, at + 4)) throw ntfsInvalid(`record ${number} has a name without an end`);
  return bytes.toString('utf16le', at + start, at + start + length);
}

export function readAttribute(bytes: Buffer, at: number, number: number, shape: NtfsShape): NtfsAttribute {
  const head = {
    type: u32(bytes, at),
    name: attributeName(bytes, at, number),
    flags: u16(bytes, at + 12),
  };
  if (bytes.readUInt8(at + 8) === 0) {
    const start = residentPlace(bytes, at, number);
    return { ...head, value: bytes.subarray(start, start + residentLength(bytes, at)) };
  }
  const attribute = bytes.subarray(at, at + u32(bytes, at + 4));
  if (attribute.length < 64) throw ntfsInvalid(`record ${number} has a list of clusters without an end`);
  const [from, start, power] = [u64(attribute, 16), u16(attribute, 32), attribute.readUInt8(34)];
  const [size, written] = from === 0 ? [u64(attribute, 48), u64(attribute, 56)] : [0, 0];
  if (start < 64 || start > attribute.length || power > 8 || !Number.isFinite(from + size + written)) {
    throw ntfsInvalid(`record ${number} has a list of clusters that cannot be`);
  }
  return {
    ...head,
    outside: {
      firstCluster: from,
      size,
      written: Math.min(written, size),
      unit: power === 0 || (head.flags & 1) === 0 ? 0 : 2 ** power,
      runs: readRuns(attribute.subarray(start), number, shape),
    },
  };
}

function readRuns(bytes: Buffer, number: number, { clusters }: NtfsShape): Run[] {
  const runs: Run[] = [];
  let [at, last] = [0, 0];
  while (at < bytes.length && bytes.readUInt8(at) !== 0) {
    const head = bytes.readUInt8(at);
    const [lengthBytes, offsetBytes] = [head & 15, head >> 4];
    const end = at + 1 + lengthBytes + offsetBytes;
    if (lengthBytes < 1 || lengthBytes > 6 || offsetBytes > 6 || end > bytes.length) {
      throw ntfsInvalid(`record ${number} has a run that cannot be`);
    }
    const length = bytes.readUIntLE(at + 1, lengthBytes);
    if (length === 0 || length > 2 ** 40)
      throw ntfsInvalid(`record ${number} has a run of ${length} clusters`);
    if (offsetBytes > 0) {
      last += bytes.readIntLE(at + 1 + lengthBytes, offsetBytes);
      if (last < 0 || last + length > clusters) {
        throw ntfsInvalid(`record ${number} has a run outside of the volume`);
      }
    }
    runs.push({ length, cluster: offsetBytes === 0 ? undefined : last });
    at = end;
  }
  return runs;
}
