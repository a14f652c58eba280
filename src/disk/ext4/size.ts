// Says how large an ext4 file system must be for its content before it is made, from the same rules by
// which mke2fs lays it out: a recipe whose disk is too small is refused immediately, with the size it needs.
import type { TarEntry } from '../tar/entry.ts';

export const ext4Block = 4096;
const inodeSize = 256;
const blocksPerGroup = 32_768;
const reservedInodes = 11;
const mebibyte = 1024 * 1024;

/** What a file tree takes up, whatever the size of the file system. */
export interface Ext4Usage {
  readonly inodes: number;
  readonly blocks: number;
}

export interface Ext4Shape {
  readonly journalMiB: number;
  /** Bytes of the file system for each inode. */
  readonly inodeRatio: number;
}

export function measureEntries(entries: Iterable<TarEntry>): Ext4Usage {
  let inodes = 0;
  let blocks = 0;
  const folders = new Map<string, number>([['', 24]]);
  for (const entry of entries) {
    if (entry.path !== '') {
      const at = entry.path.lastIndexOf('/');
      const parent = at < 0 ? '' : entry.path.slice(0, at);
      folders.set(parent, addName(folders.get(parent) ?? 24, entry.path.slice(at + 1)));
    }
    if (entry.type === 'directory') folders.set(entry.path, folders.get(entry.path) ?? 24);
    if (entry.type === 'hardlink') continue;
    inodes += 1;
    blocks += contentBlocks(entry) + attributeBlocks(entry);
  }
  for (const length of folders.values()) blocks += Math.ceil(length / ext4Block);
  return { inodes, blocks };
}

/** A name never crosses the end of a block, whose last 12 bytes hold its checksum. */
function addName(length: number, name: string): number {
  const need = 8 + Math.ceil(Buffer.byteLength(name) / 4) * 4;
  const room = ext4Block - 12 - (length % ext4Block);
  return need <= room ? length + need : Math.ceil(length / ext4Block) * ext4Block + need;
}

function contentBlocks(entry: TarEntry): number {
  if (entry.type === 'symlink') return Buffer.byteLength(entry.link) >= 60 ? 1 : 0;
  const blocks = Math.ceil(entry.size / ext4Block);
  const extents = blocks === 0 ? 0 : Math.ceil(blocks / blocksPerGroup) * 2 + 1;
  return blocks + (extents > 4 ? Math.ceil(extents / 340) + 1 : 0);
}

/** What does not fit into the 92 bytes behind the inode gets a block of its own. */
function attributeBlocks(entry: TarEntry): number {
  let length = 4;
  for (const [name, value] of entry.xattrs) {
    length += 16 + Math.ceil(Buffer.byteLength(name) / 4) * 4 + Math.ceil(value.length / 4) * 4;
  }
  return length > 92 ? 1 : 0;
}

export function chooseShape(size: number, usage: Ext4Usage): Ext4Shape {
  const journalMiB = size >= 1024 * mebibyte ? 64 : size >= 256 * mebibyte ? 16 : 4;
  const inodeRatio = [16_384, 8192, 4096].find(
    (ratio) => size / ratio > (usage.inodes + reservedInodes) * 1.25,
  );
  return { journalMiB, inodeRatio: inodeRatio ?? 2048 };
}

function isPowerOf(value: number, base: number): boolean {
  let power = base;
  while (power < value) power *= base;
  return power === value;
}

function hasBackup(group: number): boolean {
  return group <= 1 || [3, 5, 7].some((base) => isPowerOf(group, base));
}

/** Blocks that ext4 itself takes up on a file system of `size` bytes. */
function metadataBlocks(size: number, shape: Ext4Shape): number {
  const blocks = Math.floor(size / ext4Block);
  const groups = Math.ceil(blocks / blocksPerGroup);
  const inodesPerGroup = Math.ceil(size / shape.inodeRatio / groups / 16) * 16;
  const descriptors = Math.ceil(groups / 64);
  const grown = Math.ceil(Math.ceil(Math.min(blocks * 1024, 2 ** 32) / blocksPerGroup) / 64);
  const backup = 1 + descriptors + Math.min(1024, Math.max(0, grown - descriptors));
  let total = (shape.journalMiB * mebibyte) / ext4Block + 16;
  for (let group = 0; group < groups; group++) {
    total += 2 + (inodesPerGroup * inodeSize) / ext4Block + (hasBackup(group) ? backup : 0);
  }
  return total;
}

/** Whether the content fits and leaves `freeBytes` over. */
export function fitsExt4(size: number, usage: Ext4Usage, freeBytes: number): boolean {
  const shape = chooseShape(size, usage);
  const needed = usage.blocks + metadataBlocks(size, shape) + Math.ceil(freeBytes / ext4Block);
  return needed <= Math.floor(size / ext4Block) && usage.inodes + reservedInodes <= size / shape.inodeRatio;
}

/** The smallest size in whole MiB that fits. */
export function neededExt4Size(usage: Ext4Usage, freeBytes: number): number {
  let low = 1;
  let high = 8;
  while (!fitsExt4(high * mebibyte, usage, freeBytes)) high *= 2;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (fitsExt4(middle * mebibyte, usage, freeBytes)) high = middle;
    else low = middle + 1;
  }
  return high * mebibyte;
}
