// Directories, linear and indexed. The index only speeds up look-ups: its blocks look like empty ones to a linear
// reader, so every name is found by reading the blocks in order, and the index is checked along the way.
import { crc32c } from './crc32c.ts';
import type { Ext4Type, Inode } from './inode.ts';
import { ext4Invalid } from './invalid.ts';
import type { Superblock } from './superblock.ts';

export interface Name {
  /** As UTF-8; bytes that are none are written as `\xNN`. */
  readonly name: string;
  readonly inode: number;
  /** As the directory says; the inode must agree. */
  readonly type: Ext4Type | undefined;
}

const typeOfCode: Readonly<Record<number, Ext4Type>> = {
  1: 'file',
  2: 'directory',
  3: 'character',
  4: 'block',
  5: 'fifo',
  6: 'socket',
  7: 'symlink',
} satisfies Record<number, Ext4Type>;

const tailLength = 12;

/** The names in one block of a directory, without `.` and `..`. */
export function parseBlock(shape: Superblock, folder: Inode, block: Buffer, isFirst: boolean): Name[] {
  const end = checkBlock(folder, block, isFirst);
  return parseEntries(shape, folder, block, 0, end);
}

/** The names of a directory that is kept in its inode: in its 60 bytes, then in the attribute `system.data`. */
export function parseInline(shape: Superblock, folder: Inode, more: Buffer): Name[] {
  return [
    ...parseEntries(shape, folder, folder.content, 4, folder.content.length),
    ...parseEntries(shape, folder, more, 0, more.length),
  ];
}

function parseEntries(shape: Superblock, folder: Inode, bytes: Buffer, first: number, end: number): Name[] {
  const names: Name[] = [];
  for (let at = first; at < end; ) {
    if (at + 8 > end) throw damaged(folder);
    const inode = bytes.readUInt32LE(at);
    const length = entryLength(bytes, at);
    const nameLength = shape.hasFileTypes ? bytes.readUInt8(at + 6) : bytes.readUInt16LE(at + 6);
    if (
      length < 8 ||
      length % 4 !== 0 ||
      at + length > bytes.length ||
      (inode !== 0 && 8 + nameLength > length)
    )
      throw damaged(folder);
    if (inode !== 0) {
      const raw = bytes.subarray(at + 8, at + 8 + nameLength);
      const name = decodeName(raw);
      if (nameLength === 0 || raw.includes(0) || raw.includes(0x2f)) throw damaged(folder);
      const type = shape.hasFileTypes ? typeOfCode[bytes.readUInt8(at + 7)] : undefined;
      if (name !== '.' && name !== '..') names.push({ name, inode, type });
    }
    at += length;
  }
  return names;
}

function entryLength(bytes: Buffer, at: number): number {
  const length = bytes.readUInt16LE(at + 4);
  return bytes.length === 65_536 && (length === 0 || length === 65_535) ? 65_536 : length;
}

function decodeName(raw: Buffer): string {
  const text = raw.toString('utf8');
  if (Buffer.from(text).equals(raw)) return text;
  return Array.from(raw, (byte) =>
    byte < 0x80 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`,
  ).join('');
}

/** Where the entries of a block end. Only file systems with checksums have something behind them. */
function checkBlock(folder: Inode, block: Buffer, isFirst: boolean): number {
  if (folder.checksumSeed === undefined) return block.length;
  const isNode = block.readUInt32LE(0) === 0 && entryLength(block, 0) === block.length;
  if (folder.isIndexed && (isFirst || isNode)) {
    checkIndex(folder, folder.checksumSeed, block, isFirst ? 0x20 : 8);
    return block.length;
  }
  const tail = block.length - tailLength;
  const hasTail = block.readUInt32LE(tail) === 0 && block.readUInt32LE(tail + 4) === 0xde00_000c;
  if (!hasTail || crc32c(folder.checksumSeed, block.subarray(0, tail)) !== block.readUInt32LE(tail + 8)) {
    throw damaged(folder);
  }
  return tail;
}

function checkIndex(folder: Inode, seed: number, block: Buffer, start: number): void {
  const limit = block.readUInt16LE(start);
  const count = block.readUInt16LE(start + 2);
  const tail = start + limit * 8;
  if (count > limit || tail + 8 > block.length) throw damaged(folder);
  const used = crc32c(seed, block.subarray(0, start + count * 8));
  const sum = crc32c(crc32c(used, block.subarray(tail, tail + 4)), Buffer.alloc(4));
  if (sum !== block.readUInt32LE(tail + 4)) throw damaged(folder);
}

function damaged(folder: Inode): Error {
  return ext4Invalid(`the directory of inode ${folder.number} is damaged`);
}
