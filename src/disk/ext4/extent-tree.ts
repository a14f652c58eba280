// Where a file's blocks lie. The tree is followed strictly in order, which also bounds it: nothing can be met twice.
import { type ByteSource, readBytes } from '../bytes/byte-source.ts';
import { crc32c } from './crc32c.ts';
import type { Inode } from './inode.ts';
import { ext4Invalid } from './invalid.ts';
import type { Superblock } from './superblock.ts';

export interface BlockRun {
  /** The first block of the file that it holds. */
  readonly logical: number;
  /** Where that lies on the file system. */
  readonly physical: number;
  readonly blocks: number;
  /** Reserved, and reads as zero. */
  readonly isUnwritten: boolean;
}

const maxDepth = 5;

/** In the order of the file; between runs are holes. */
export async function* readRuns(
  source: ByteSource,
  shape: Superblock,
  inode: Inode,
): AsyncGenerator<BlockRun> {
  if (!inode.usesExtents) {
    if (inode.content.every((byte) => byte === 0)) return;
    throw ext4Invalid(`inode ${inode.number} uses the block lists of ext3`);
  }
  const depth = inode.content.readUInt16LE(6);
  if (depth > maxDepth) throw ext4Invalid(`the extents of inode ${inode.number} are nested too deeply`);
  const progress = { next: 0 };
  yield* readNode({ source, shape, inode, progress }, inode.content, depth, true);
}

interface Tree {
  readonly source: ByteSource;
  readonly shape: Superblock;
  readonly inode: Inode;
  readonly progress: { next: number };
}

async function* readNode(tree: Tree, node: Buffer, depth: number, isRoot: boolean): AsyncGenerator<BlockRun> {
  const entries = node.readUInt16LE(2);
  const capacity = Math.floor((node.length - 12) / 12);
  const isWhole = node.readUInt16LE(0) === 0xf30a && node.readUInt16LE(6) === depth;
  if (
    !isWhole ||
    entries > node.readUInt16LE(4) ||
    node.readUInt16LE(4) > capacity ||
    (!isRoot && entries === 0)
  )
    throw damaged(tree);
  for (let index = 0; index < entries; index += 1) {
    const entry = node.subarray(12 + index * 12, 24 + index * 12);
    if (depth === 0) yield leafRun(tree, entry);
    else yield* readNode(tree, await readChild(tree, entry), depth - 1, false);
  }
}

function leafRun(tree: Tree, entry: Buffer): BlockRun {
  const logical = entry.readUInt32LE(0);
  const length = entry.readUInt16LE(4);
  const physical = entry.readUInt32LE(8) + entry.readUInt16LE(6) * 2 ** 32;
  const isUnwritten = length > 32_768;
  const blocks = isUnwritten ? length - 32_768 : length;
  const { shape, progress } = tree;
  if (blocks === 0 || logical < progress.next || physical < 1 || physical + blocks > shape.blocks)
    throw damaged(tree);
  progress.next = logical + blocks;
  return { logical, physical, blocks, isUnwritten };
}

async function readChild(tree: Tree, entry: Buffer): Promise<Buffer> {
  const { source, shape, inode } = tree;
  const place = entry.readUInt32LE(4) + entry.readUInt16LE(8) * 2 ** 32;
  if (entry.readUInt32LE(0) < tree.progress.next || place < 1 || place >= shape.blocks) throw damaged(tree);
  const node = await readBytes(source, place * shape.blockSize, shape.blockSize);
  if (inode.checksumSeed === undefined) return node;
  const end = 12 + node.readUInt16LE(4) * 12;
  if (end + 4 > node.length || crc32c(inode.checksumSeed, node.subarray(0, end)) !== node.readUInt32LE(end))
    throw damaged(tree);
  return node;
}

function damaged({ inode }: Tree): Error {
  return ext4Invalid(`the extents of inode ${inode.number} are damaged`);
}
