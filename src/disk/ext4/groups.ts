// The group descriptors, of which only the place of each group's inodes is needed.
import { type ByteSource, readBytes } from '../bytes/byte-source.ts';
import { crc32c, crc32cOfNumber } from './crc32c.ts';
import { ext4Invalid } from './invalid.ts';
import type { Superblock } from './superblock.ts';

/** The first block of each group's inodes. Checksums of the descriptors are checked where there are any. */
export async function readInodeTables(source: ByteSource, shape: Superblock): Promise<Float64Array> {
  const { blockSize, groups, descriptorSize } = shape;
  const perBlock = blockSize / descriptorSize;
  const tables = new Float64Array(groups);
  for (let block = 0; block * perBlock < groups; block += 1) {
    const place = descriptorBlock(shape, block, perBlock);
    if (place >= shape.blocks) throw ext4Invalid('its group descriptors lie outside of it');
    const bytes = await readBytes(source, place * blockSize, blockSize);
    for (let index = 0; index < perBlock && block * perBlock + index < groups; index += 1) {
      const group = block * perBlock + index;
      const descriptor = bytes.subarray(index * descriptorSize, (index + 1) * descriptorSize);
      tables[group] = inodeTable(shape, group, descriptor);
    }
  }
  return tables;
}

function descriptorBlock(shape: Superblock, block: number, perBlock: number): number {
  if (shape.firstMetaGroup === undefined || block < shape.firstMetaGroup) {
    return shape.firstDataBlock + 1 + block;
  }
  const group = block * perBlock;
  const hasSuperblock = !shape.hasSparseBackups || keepsBackup(group);
  return shape.firstDataBlock + group * shape.blocksPerGroup + (hasSuperblock ? 1 : 0);
}

/** Backups are in the groups 0, 1 and the powers of 3, 5 and 7. */
function keepsBackup(group: number): boolean {
  if (group <= 1) return true;
  return [3, 5, 7].some((base) => {
    let power = base;
    while (power < group) power *= base;
    return power === group;
  });
}

function inodeTable(shape: Superblock, group: number, descriptor: Buffer): number {
  if (shape.checksumSeed !== undefined) {
    const whole = Buffer.from(descriptor);
    whole.writeUInt16LE(0, 0x1e);
    const sum = crc32c(crc32cOfNumber(shape.checksumSeed, group), whole) & 0xffff;
    if (sum !== descriptor.readUInt16LE(0x1e))
      throw ext4Invalid(`the descriptor of group ${group} is damaged`);
  }
  const high = descriptor.length >= 64 ? descriptor.readUInt32LE(0x28) : 0;
  const table = descriptor.readUInt32LE(8) + high * 2 ** 32;
  const length = Math.ceil((shape.inodesPerGroup * shape.inodeSize) / shape.blockSize);
  if (table < 1 || table + length > shape.blocks) {
    throw ext4Invalid(`the inodes of group ${group} lie outside of it`);
  }
  return table;
}
