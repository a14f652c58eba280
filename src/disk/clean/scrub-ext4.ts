// Bytes that no file shows and that a disk still holds: names of deleted files in directories, deleted inodes, the ends
// of blocks, blocks that are reserved and not written, and the journal. Free blocks are not handled here.
import type { FileHandle } from 'node:fs/promises';
import { throwIfAborted } from '../../async/abort.ts';
import { type ByteSource, readBytes, writeFully } from '../bytes/byte-source.ts';
import { isZero } from '../bytes/extent.ts';
import { crc32c } from '../ext4/crc32c.ts';
import { readRuns } from '../ext4/extent-tree.ts';
import { type Inode, type InodeTable, openInodeTable } from '../ext4/inode.ts';
import { readInodeTables } from '../ext4/reader.ts';
import { readSuperblock, type Superblock } from '../ext4/superblock.ts';
import { writeZeros } from './zeroing.ts';

interface Target {
  readonly handle: FileHandle;
  /** Where the file system starts in the file. */
  readonly offset: number;
  readonly source: ByteSource;
  readonly shape: Superblock;
  readonly inodes: InodeTable;
}

const journalInode = 8;
const firstInode = 11;
const windowSize = 1024 * 1024;
const checksumTail = 12;

/** The file system must be intact. A second call writes nothing. */
export async function scrubExt4(
  handle: FileHandle,
  offset: number,
  source: ByteSource,
  signal?: AbortSignal,
): Promise<void> {
  const shape = await readSuperblock(source);
  const tables = await readInodeTables(source, shape);
  const target: Target = { handle, offset, source, shape, inodes: openInodeTable(source, shape, tables) };
  if (await hasJournal(source)) await scrubJournal(target);
  for (const [group, table] of tables.entries()) {
    throwIfAborted(signal);
    for (const number of await scrubInodes(target, group, table)) {
      await scrubContent(target, await target.inodes.read(number));
    }
  }
}

async function hasJournal(source: ByteSource): Promise<boolean> {
  return ((await readBytes(source, 1024 + 0x5c, 4)).readUInt32LE(0) & 4) !== 0;
}

/** An empty journal is only its first block. */
async function scrubJournal(target: Target): Promise<void> {
  const { source, shape, inodes } = target;
  for await (const run of readRuns(source, shape, await inodes.read(journalInode))) {
    const skipped = run.logical === 0 ? 1 : 0;
    await clearBlocks(target, run.physical + skipped, run.blocks - skipped);
  }
}

async function clearBlocks({ handle, offset, shape }: Target, first: number, count: number): Promise<void> {
  await writeZeros(handle, offset + first * shape.blockSize, count * shape.blockSize);
}

/** Clears the inodes of a group that are not in use, and returns the numbers of the others. */
async function scrubInodes(target: Target, group: number, table: number): Promise<number[]> {
  const { source, shape, handle, offset } = target;
  const { inodeSize, inodesPerGroup } = shape;
  const start = table * shape.blockSize;
  const total = inodesPerGroup * inodeSize;
  const used: number[] = [];
  for (let at = 0; at < total; at += windowSize) {
    const bytes = await readBytes(source, start + at, Math.min(windowSize, total - at));
    if (isZero(bytes)) continue;
    let isChanged = false;
    for (let within = 0; within < bytes.length; within += inodeSize) {
      const number = group * inodesPerGroup + (at + within) / inodeSize + 1;
      if (number < firstInode) continue;
      const inode = bytes.subarray(within, within + inodeSize);
      const isUsed = inode.readUInt16LE(0x1a) !== 0;
      if (isUsed) used.push(number);
      if (isUsed || isZero(inode)) continue;
      inode.fill(0);
      isChanged = true;
    }
    if (isChanged) await writeFully(handle, offset + start + at, bytes);
  }
  return used;
}

async function scrubContent(target: Target, inode: Inode): Promise<void> {
  if (inode.isInline || (inode.type !== 'file' && inode.type !== 'directory')) return;
  const { source, shape, handle, offset } = target;
  for await (const run of readRuns(source, shape, inode)) {
    if (inode.type === 'directory') await scrubFolder(target, inode, run.logical, run.physical, run.blocks);
    else if (run.isUnwritten) await clearBlocks(target, run.physical, run.blocks);
    else {
      const start = run.logical * shape.blockSize;
      const length = run.blocks * shape.blockSize;
      const shown = Math.min(Math.max(inode.size - start, 0), length);
      await writeZeros(handle, offset + run.physical * shape.blockSize + shown, length - shown);
    }
  }
}

async function scrubFolder(
  { source, shape, handle, offset }: Target,
  folder: Inode,
  logical: number,
  physical: number,
  blocks: number,
): Promise<void> {
  for (let index = 0; index < blocks; index += 1) {
    const at = (physical + index) * shape.blockSize;
    const block = await readBytes(source, at, shape.blockSize);
    const before = Buffer.from(block);
    scrubBlock(shape, folder, block, logical + index === 0);
    if (!block.equals(before)) await writeFully(handle, offset + at, block);
  }
}

function scrubBlock(shape: Superblock, folder: Inode, block: Buffer, isFirst: boolean): void {
  const isNode = block.readUInt32LE(0) === 0 && block.readUInt16LE(4) === block.length;
  if (folder.isIndexed && (isFirst || isNode)) {
    const start = isFirst ? 0x20 : 8;
    const [limit, count] = [block.readUInt16LE(start), block.readUInt16LE(start + 2)];
    const isIndex = count <= limit && start + limit * 8 <= block.length;
    if (isIndex) block.fill(0, start + count * 8, start + limit * 8);
    return;
  }
  const { checksumSeed } = folder;
  const end = block.length - (checksumSeed === undefined ? 0 : checksumTail);
  for (let at = 0; at < end; ) {
    const length = block.readUInt16LE(at + 4) || block.length;
    const nameLength = shape.hasFileTypes ? block.readUInt8(at + 6) : block.readUInt16LE(at + 6);
    const isUnused = block.readUInt32LE(at) === 0;
    if (isUnused) block.fill(0, at + 6, at + 8);
    block.fill(0, at + 8 + (isUnused ? 0 : nameLength), Math.min(at + length, end));
    at += length;
  }
  if (checksumSeed !== undefined) block.writeUInt32LE(crc32c(checksumSeed, block.subarray(0, end)), end + 8);
}
