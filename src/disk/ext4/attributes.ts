// Extended attributes, in the inode and in a block of their own.
import { type ByteSource, readBytes } from '../bytes/byte-source.ts';
import { crc32c } from './crc32c.ts';
import type { Inode } from './inode.ts';
import { ext4Invalid } from './invalid.ts';
import type { Superblock } from './superblock.ts';

const magic = 0xea02_0000;
const prefixes: Readonly<Record<number, string>> = {
  1: 'user.',
  2: 'system.posix_acl_access',
  3: 'system.posix_acl_default',
  4: 'trusted.',
  6: 'security.',
  7: 'system.',
  8: 'system.richacl',
};

/** By their full name, such as `security.capability`; also `system.data`, the rest of content that is inline. */
export async function readAttributes(
  source: ByteSource,
  shape: Superblock,
  inode: Inode,
): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  const { rest, attributeBlock } = inode;
  if (rest.length >= 8 && rest.readUInt32LE(0) === magic) parse(inode, rest.subarray(4), 0, found);
  if (attributeBlock === 0) return found;
  if (attributeBlock >= shape.blocks) throw damaged(inode);
  const block = await readBytes(source, attributeBlock * shape.blockSize, shape.blockSize);
  if (block.readUInt32LE(0) !== magic || block.readUInt32LE(8) !== 1) throw damaged(inode);
  checkBlock(shape, inode, block);
  parse(inode, block, 32, found);
  return found;
}

function checkBlock(shape: Superblock, inode: Inode, block: Buffer): void {
  if (shape.checksumSeed === undefined) return;
  const place = Buffer.alloc(8);
  place.writeBigUInt64LE(BigInt(inode.attributeBlock));
  const whole = Buffer.from(block);
  whole.writeUInt32LE(0, 0x10);
  if (crc32c(crc32c(shape.checksumSeed, place), whole) !== block.readUInt32LE(0x10)) throw damaged(inode);
}

/** Values are placed from the start of `area`; the entries begin at `first`. */
function parse(inode: Inode, area: Buffer, first: number, found: Map<string, Buffer>): void {
  for (let at = first; at + 4 <= area.length && area.readUInt32LE(at) !== 0; ) {
    if (at + 16 > area.length) throw damaged(inode);
    const nameLength = area.readUInt8(at);
    const prefix = prefixes[area.readUInt8(at + 1)];
    const offset = area.readUInt16LE(at + 2);
    const size = area.readUInt32LE(at + 8);
    const end = at + 16 + nameLength;
    if (prefix === undefined || area.readUInt32LE(at + 4) !== 0 || end > area.length) throw damaged(inode);
    if (size > 0 && (offset + size > area.length || offset < end)) throw damaged(inode);
    const name = `${prefix}${area.toString('latin1', at + 16, end)}`;
    if (found.has(name)) throw damaged(inode);
    found.set(name, Buffer.from(area.subarray(offset, offset + size)));
    at = (end + 3) & ~3;
  }
}

function damaged(inode: Inode): Error {
  return ext4Invalid(`the attributes of inode ${inode.number} are damaged`);
}
