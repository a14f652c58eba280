// Reads a hive of the Windows registry (format regf) from memory, strictly: every offset is checked before it is
// followed, lists are bounded, and a hive with changes in its logs is refused instead of read as it was before them.
import { ImagoError } from '../../../domain/error/imago-error.ts';

export interface HiveKey {
  readonly name: string;
  /** 100 ns since 1601. */
  readonly written: bigint;
  /** In the order of the hive. */
  keys(): readonly HiveKey[];
  values(): readonly HiveValue[];
  /** A key below it by names with backslashes between, regardless of case; `undefined` when there is none. */
  key(path: string): HiveKey | undefined;
  /** A value by its name regardless of case, the empty one for the default. */
  value(name: string): HiveValue | undefined;
  /** A value as text, empty when there is none. */
  text(name: string): string;
  /** A value of 32 bits. */
  number(name: string): number | undefined;
}

export interface HiveValue {
  readonly name: string;
  /** 1 text, 2 text with variables, 3 bytes, 4 number, 7 texts, 11 large number. */
  readonly type: number;
  readonly bytes: Buffer;
}

const base = 4096;
const none = 0xffff_ffff;
/** Larger values are in pieces of this size. */
const pieceSize = 16_344;
const maxKeys = 1_000_000;
const maxValues = 100_000;

function invalid(message: string): ImagoError {
  return new ImagoError('hive-invalid', `The registry hive cannot be read: ${message}.`);
}

/** The root key. Throws `hive-invalid`, or `hive-unclean` when changes are in its logs. */
export function openHive(bytes: Buffer): HiveKey {
  if (bytes.length < base + 32 || bytes.toString('latin1', 0, 4) !== 'regf')
    throw invalid('it is not a hive');
  let sum = 0;
  for (let at = 0; at < 508; at += 4) sum ^= bytes.readUInt32LE(at);
  const expected = sum === 0 ? 1 : sum === -1 ? -2 : sum;
  if (expected >>> 0 !== bytes.readUInt32LE(508)) throw invalid('its first block is damaged');
  if (bytes.readUInt32LE(4) !== bytes.readUInt32LE(8)) {
    throw new ImagoError('hive-unclean', 'The registry hive is dirty: its last changes are in its logs.');
  }
  const size = Math.min(base + bytes.readUInt32LE(40), bytes.length);
  const minor = bytes.readUInt32LE(24);
  if (bytes.readUInt32LE(20) !== 1 || minor > 6) throw invalid('it has an unknown format');
  const hive = { bytes: bytes.subarray(0, size), splits: minor > 3, left: 4 * maxKeys };
  return readKey(hive, bytes.readUInt32LE(36));
}

interface Hive {
  readonly bytes: Buffer;
  /** Whether large values are in pieces. */
  readonly splits: boolean;
  /** How many more keys may be read: a hive whose lists name a key repeatedly has an end. */
  left: number;
}

function cell({ bytes }: Hive, offset: number): Buffer {
  const at = base + offset;
  if (offset % 8 !== 0 || at + 8 > bytes.length) throw invalid(`the cell at ${offset} lies outside of it`);
  const size = -bytes.readInt32LE(at);
  if (size < 8 || at + size > bytes.length) throw invalid(`the cell at ${offset} is free or too long`);
  return bytes.subarray(at + 4, at + size);
}

function readKey(hive: Hive, offset: number): HiveKey {
  hive.left -= 1;
  if (hive.left < 0) throw invalid('it names too many keys');
  const bytes = cell(hive, offset);
  if (bytes.length < 76 || bytes.toString('latin1', 0, 2) !== 'nk') throw invalid(`no key is at ${offset}`);
  const length = bytes.readUInt16LE(72);
  if (76 + length > bytes.length) throw invalid(`the key at ${offset} has a name without an end`);
  const isLatin = (bytes.readUInt16LE(2) & 0x20) !== 0;
  let inside: readonly HiveKey[] | undefined;
  const key: HiveKey = {
    name: bytes.toString(isLatin ? 'latin1' : 'utf16le', 76, 76 + length),
    written: bytes.readBigUInt64LE(4),
    keys() {
      const count = bytes.readUInt32LE(20);
      inside ??= count === 0 ? [] : subkeys(hive, bytes.readUInt32LE(28), count);
      return inside;
    },
    values: () => valuesOf(hive, bytes),
    key(path) {
      let at: HiveKey | undefined = key;
      for (const part of path.split('\\')) {
        const wanted = part.toUpperCase();
        at = at?.keys().find(({ name }) => name.toUpperCase() === wanted);
      }
      return at;
    },
    value(name) {
      const wanted = name.toUpperCase();
      return key.values().find((value) => value.name.toUpperCase() === wanted);
    },
    text(name) {
      const value = key.value(name);
      return value === undefined ? '' : valueText(value);
    },
    number(name) {
      const found = key.value(name)?.bytes;
      return found?.length === 4 ? found.readUInt32LE(0) : undefined;
    },
  };
  return key;
}

function subkeys(hive: Hive, offset: number, count: number): HiveKey[] {
  if (count > maxKeys) throw invalid(`a key says that it has ${count} keys`);
  const offsets = keyOffsets(hive, offset, true);
  if (offsets.length !== count) throw invalid(`a key has ${offsets.length} keys and says ${count}`);
  return offsets.map((place) => readKey(hive, place));
}

function keyOffsets(hive: Hive, offset: number, mayNest: boolean): number[] {
  const list = cell(hive, offset);
  const kind = list.toString('latin1', 0, 2);
  const count = list.readUInt16LE(2);
  const step = kind === 'lf' || kind === 'lh' ? 8 : 4;
  if (!['lf', 'lh', 'li', ...(mayNest ? ['ri'] : [])].includes(kind) || 4 + count * step > list.length) {
    throw invalid(`no list of keys is at ${offset}`);
  }
  const offsets = Array.from({ length: count }, (_, index) => list.readUInt32LE(4 + index * step));
  hive.left -= count;
  if (hive.left < 0) throw invalid('it names too many keys');
  return kind === 'ri' ? offsets.flatMap((place) => keyOffsets(hive, place, false)) : offsets;
}

function valuesOf(hive: Hive, key: Buffer): HiveValue[] {
  const [count, offset] = [key.readUInt32LE(36), key.readUInt32LE(40)];
  if (count === 0 || offset === none) return [];
  const list = cell(hive, offset);
  if (count > maxValues || count * 4 > list.length) throw invalid(`a key says that it has ${count} values`);
  return Array.from({ length: count }, (_, index) => readValue(hive, list.readUInt32LE(index * 4)));
}

function readValue(hive: Hive, offset: number): HiveValue {
  const bytes = cell(hive, offset);
  if (bytes.length < 20 || bytes.toString('latin1', 0, 2) !== 'vk') throw invalid(`no value is at ${offset}`);
  const length = bytes.readUInt16LE(2);
  if (20 + length > bytes.length) throw invalid(`the value at ${offset} has a name without an end`);
  const isLatin = (bytes.readUInt16LE(16) & 1) !== 0;
  const size = bytes.readUInt32LE(4);
  return {
    name: bytes.toString(isLatin ? 'latin1' : 'utf16le', 20, 20 + length),
    type: bytes.readUInt32LE(12),
    bytes: (size & 0x8000_0000) === 0 ? readData(hive, bytes.readUInt32LE(8), size) : inlineData(bytes, size),
  };
}

function inlineData(bytes: Buffer, size: number): Buffer {
  const length = size & 0x7fff_ffff;
  if (length > 4) throw invalid('a value of more than 4 bytes is inside of its cell');
  return bytes.subarray(8, 8 + length);
}

function readData(hive: Hive, offset: number, size: number): Buffer {
  if (size === 0) return Buffer.alloc(0);
  const data = cell(hive, offset);
  if (!hive.splits || size <= pieceSize) {
    if (size > data.length) throw invalid('a value is longer than its cell');
    return data.subarray(0, size);
  }
  if (data.toString('latin1', 0, 2) !== 'db') {
    if (size <= data.length) return data.subarray(0, size);
    throw invalid('a large value has no list of its pieces');
  }
  const count = data.readUInt16LE(2);
  const list = cell(hive, data.readUInt32LE(4));
  if (count * 4 > list.length || count !== Math.ceil(size / pieceSize)) {
    throw invalid('a large value has another number of pieces than it says');
  }
  const pieces: Buffer[] = [];
  for (let index = 0; index < count; index += 1) {
    const piece = cell(hive, list.readUInt32LE(index * 4));
    const length = Math.min(pieceSize, size - index * pieceSize);
    if (piece.length < length) throw invalid('a piece of a large value is too short');
    pieces.push(piece.subarray(0, length));
  }
  return Buffer.concat(pieces);
}

/** A value as text, whatever its type: texts are joined by commas, bytes are in hexadecimal. */
export function valueText({ type, bytes }: HiveValue): string {
  if (type === 1 || type === 2) return cutText(bytes);
  if (type === 7) return textList(bytes).join(', ');
  if (type === 4 && bytes.length === 4) return String(bytes.readUInt32LE(0));
  if (type === 11 && bytes.length === 8) return String(bytes.readBigUInt64LE(0));
  return bytes.toString('hex');
}

function cutText(bytes: Buffer): string {
  return bytes.toString('utf16le', 0, bytes.length & ~1).replace(/\0.*$/s, '');
}

function textList(bytes: Buffer): string[] {
  return bytes
    .toString('utf16le', 0, bytes.length & ~1)
    .split('\0')
    .filter((text) => text !== '');
}
