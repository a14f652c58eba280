// Inodes: what a file is, who owns it, and where its content begins to be found.
import { type ByteSource, readBytes } from '../bytes/byte-source.ts';
import type { FileType } from '../tree/file-tree.ts';
import { crc32c, crc32cOfNumber } from './crc32c.ts';
import { ext4Invalid } from './invalid.ts';
import type { Superblock } from './superblock.ts';

export type Ext4Type = FileType;

export interface Inode {
  readonly number: number;
  readonly type: Ext4Type;
  /** Permission bits with setuid, setgid and sticky. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  /** Whole seconds since 1970; earlier times are negative. */
  readonly mtime: number;
  readonly links: number;
  readonly usesExtents: boolean;
  readonly isInline: boolean;
  readonly isIndexed: boolean;
  /** 60 bytes: the root of the extents, a short link's target, or a device's number. */
  readonly content: Buffer;
  /** What follows the fixed fields: attributes. */
  readonly rest: Buffer;
  /** The block of further attributes; 0 for none. */
  readonly attributeBlock: number;
  /** What checksums of blocks that belong to this inode begin with; `undefined` where there are none. */
  readonly checksumSeed: number | undefined;
}

const typeOfMode: ReadonlyMap<number, Ext4Type> = new Map([
  [0x8, 'file'],
  [0x4, 'directory'],
  [0xa, 'symlink'],
  [0x2, 'character'],
  [0x6, 'block'],
  [0x1, 'fifo'],
  [0xc, 'socket'],
]);

const flags = { indexed: 0x1000, extents: 0x8_0000, inline: 0x1000_0000, encrypted: 0x800 } as const;

export const rootInode = 2;

export interface InodeTable {
  /** Throws `ext4-invalid` when the number is out of range, or the inode is unused or damaged. */
  read(number: number): Promise<Inode>;
}

const windowSize = 16 * 1024;
const keptWindows = 256;

/** Inodes that are read together are close together: the last few chunks of the tables are cached. */
export function openInodeTable(source: ByteSource, shape: Superblock, tables: Float64Array): InodeTable {
  const kept = new Map<number, Promise<Buffer>>();

  function window(index: number): Promise<Buffer> {
    const start = index * windowSize;
    const found = kept.get(index) ?? readBytes(source, start, Math.min(windowSize, source.size - start));
    kept.delete(index);
    kept.set(index, found);
    const oldest = kept.keys().next().value;
    if (kept.size > keptWindows && oldest !== undefined) kept.delete(oldest);
    return found;
  }

  return {
    async read(number) {
      if (!(number >= 1 && number <= shape.inodes)) throw ext4Invalid(`there is no inode ${number}`);
      const group = Math.floor((number - 1) / shape.inodesPerGroup);
      const within = (number - 1) % shape.inodesPerGroup;
      const at = (tables[group] ?? 0) * shape.blockSize + within * shape.inodeSize;
      const piece = await window(Math.floor(at / windowSize));
      const from = at % windowSize;
      return decodeInode(shape, number, piece.subarray(from, from + shape.inodeSize));
    },
  };
}

function decodeInode(shape: Superblock, number: number, raw: Buffer): Inode {
  const bytes = Buffer.from(raw);
  const extra = shape.inodeSize > 128 ? bytes.readUInt16LE(0x80) : 0;
  if (extra % 4 !== 0 || 128 + extra > shape.inodeSize) throw ext4Invalid(`inode ${number} is misshapen`);
  const checksumSeed = checkInode(shape, number, bytes, extra);
  const mode = bytes.readUInt16LE(0);
  const type = typeOfMode.get(mode >> 12);
  const bits = bytes.readUInt32LE(0x20);
  if (type === undefined || bytes.readUInt16LE(0x1a) === 0)
    throw ext4Invalid(`inode ${number} is not in use`);
  if ((bits & flags.encrypted) !== 0) throw ext4Invalid(`inode ${number} is encrypted`);
  const hasHigh = type === 'file' || type === 'directory';
  const size = bytes.readUInt32LE(4) + (hasHigh ? bytes.readUInt32LE(0x6c) * 2 ** 32 : 0);
  if (!Number.isSafeInteger(size)) throw ext4Invalid(`inode ${number} has an impossible size`);
  const epochBits = extra >= 0x0c ? bytes.readUInt32LE(0x88) & 3 : 0;
  return {
    number,
    type,
    mode: mode & 0o7777,
    uid: bytes.readUInt16LE(2) + bytes.readUInt16LE(0x78) * 65_536,
    gid: bytes.readUInt16LE(0x18) + bytes.readUInt16LE(0x7a) * 65_536,
    size,
    mtime: bytes.readInt32LE(0x10) + epochBits * 2 ** 32,
    links: bytes.readUInt16LE(0x1a),
    usesExtents: (bits & flags.extents) !== 0,
    isInline: (bits & flags.inline) !== 0,
    isIndexed: (bits & flags.indexed) !== 0,
    content: bytes.subarray(0x28, 0x64),
    rest: shape.inodeSize > 128 ? bytes.subarray(128 + extra) : Buffer.alloc(0),
    attributeBlock: bytes.readUInt32LE(0x68) + bytes.readUInt16LE(0x76) * 2 ** 32,
    checksumSeed,
  };
}

function checkInode(shape: Superblock, number: number, bytes: Buffer, extra: number): number | undefined {
  if (shape.checksumSeed === undefined) return undefined;
  const seed = crc32c(crc32cOfNumber(shape.checksumSeed, number), bytes.subarray(0x64, 0x68));
  const hasHigh = extra >= 4;
  const stated = bytes.readUInt16LE(0x7c) + (hasHigh ? bytes.readUInt16LE(0x82) * 65_536 : 0);
  const whole = Buffer.from(bytes);
  whole.writeUInt16LE(0, 0x7c);
  if (hasHigh) whole.writeUInt16LE(0, 0x82);
  const sum = crc32c(seed, whole);
  if ((hasHigh ? sum : sum & 0xffff) !== stated) throw ext4Invalid(`inode ${number} is damaged`);
  return seed;
}
