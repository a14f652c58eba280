// Reads ext4 file systems without mounting them, strictly: every number is checked before it is followed, and
// every checksum is compared, so that a damaged or hostile disk is refused and never makes Imago read, allocate
// or wait without bound. The journal is not replayed: a file system that needs it is refused.
import { throwIfAborted } from '../../async/abort.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type ByteSource, readBytes } from '../bytes/byte-source.ts';
import { defaultMaxEntries, type FileEntry, type FileTree, type WalkOptions } from '../tree/file-tree.ts';
import { readAttributes } from './attributes.ts';
import { crc32c, crc32cOfNumber } from './crc32c.ts';
import { type Name, parseBlock, parseInline } from './directory.ts';
import { readRuns } from './extent-tree.ts';
import { contentExtents, contentName, readContent, readInline } from './file-content.ts';
import { type Ext4Type, type Inode, openInodeTable, rootInode } from './inode.ts';
import { ext4Invalid } from './invalid.ts';
import { readSuperblock, type Superblock, type SuperblockOptions } from './superblock.ts';

/** An entry of an ext4 file system. */
export type Ext4Entry = FileEntry;

export interface Ext4Reader extends FileTree {
  readonly shape: Superblock;
}

const maxLink = 4096;

/**
 * Opens a file system that begins at the start of `source` (see `partOf` for one on a disk). Throws
 * `ext4-invalid` for what it cannot read, and `ext4-unclean` when the journal would have to be replayed.
 */
export async function openExt4(source: ByteSource, options: SuperblockOptions = {}): Promise<Ext4Reader> {
  const shape = await readSuperblock(source, options);
  const inodes = openInodeTable(source, shape, await readInodeTables(source, shape));

  async function file(number: number): Promise<Inode> {
    const inode = await inodes.read(number);
    if (inode.type !== 'file') throw ext4Invalid(`inode ${number} is a ${inode.type} and no file`);
    return inode;
  }

  async function names(folder: Inode): Promise<Name[]> {
    const found = await readNames(source, shape, folder);
    const seen = new Set<string>();
    for (const { name } of found) {
      if (seen.has(name))
        throw ext4Invalid(`two entries of one directory are called ${JSON.stringify(name)}`);
      seen.add(name);
    }
    return found.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  async function entry(
    path: string,
    number: number,
    said: Ext4Type | undefined,
  ): Promise<[Ext4Entry, Inode]> {
    const inode = await inodes.read(number);
    if (said !== undefined && said !== inode.type) {
      throw ext4Invalid(
        `${JSON.stringify(path)} is a ${said} in its directory and a ${inode.type} in its inode`,
      );
    }
    return [await describe(source, shape, path, inode), inode];
  }

  async function* walk(walkOptions: WalkOptions = {}): AsyncGenerator<Ext4Entry> {
    const limit = walkOptions.maxEntries ?? defaultMaxEntries;
    const visited = new Set<number>();
    let count = 0;
    const waiting: { path: string; number: number; type: Ext4Type | undefined }[] = [
      { path: '/', number: rootInode, type: 'directory' },
    ];
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      throwIfAborted(walkOptions.signal);
      count += 1;
      if (count > limit) throw ext4Invalid(`it has more than ${limit} entries`);
      const [found, inode] = await entry(next.path, next.number, next.type);
      yield found;
      if (inode.type !== 'directory') continue;
      if (visited.has(inode.number))
        throw ext4Invalid(`the directory ${JSON.stringify(next.path)} is in two places`);
      visited.add(inode.number);
      const prefix = next.path === '/' ? '/' : `${next.path}/`;
      for (const child of (await names(inode)).reverse()) {
        waiting.push({ path: `${prefix}${child.name}`, number: child.inode, type: child.type });
      }
    }
  }

  return {
    shape,
    totalBytes: shape.blocks * shape.blockSize,
    freeBytes: shape.freeBlocks * shape.blockSize,
    walk,
    async find(path) {
      let at = await inodes.read(rootInode);
      for (const part of path.split('/').filter((name) => name !== '')) {
        if (at.type !== 'directory') return undefined;
        const child = (await names(at)).find(({ name }) => name === part);
        if (child === undefined) return undefined;
        at = await inodes.read(child.inode);
      }
      return describe(source, shape, path, at);
    },
    async *stream({ inode }) {
      yield* readContent(source, shape, await file(inode));
    },
    async read({ inode: number }, maxBytes) {
      const inode = await file(number);
      if (inode.size > maxBytes) {
        throw new ImagoError(
          'input-invalid',
          `a file has ${inode.size} bytes, more than the ${maxBytes} expected`,
        );
      }
      const pieces: Buffer[] = [];
      for await (const piece of readContent(source, shape, inode)) pieces.push(piece);
      return pieces.length === 1 ? (pieces[0] ?? Buffer.alloc(0)) : Buffer.concat(pieces);
    },
    async *extents({ inode }) {
      yield* contentExtents(source, shape, await file(inode));
    },
    async identify({ inode }) {
      return contentName(source, shape, await file(inode));
    },
  };
}

async function describe(
  source: ByteSource,
  shape: Superblock,
  path: string,
  inode: Inode,
): Promise<Ext4Entry> {
  const attributes = await readAttributes(source, shape, inode);
  if (inode.isInline) attributes.delete('system.data');
  const isDevice = inode.type === 'character' || inode.type === 'block';
  return {
    path,
    type: inode.type,
    mode: inode.mode,
    uid: inode.uid,
    gid: inode.gid,
    size: inode.type === 'file' ? inode.size : 0,
    mtime: inode.mtime,
    link: inode.type === 'symlink' ? await readLink(source, shape, inode) : '',
    device: isDevice ? deviceNumber(inode) : undefined,
    inode: inode.number,
    links: inode.links,
    attributes,
  };
}

async function readLink(source: ByteSource, shape: Superblock, inode: Inode): Promise<string> {
  if (inode.size === 0 || inode.size >= maxLink) {
    throw ext4Invalid(`the link of inode ${inode.number} has an impossible length`);
  }
  if (!inode.usesExtents && !inode.isInline) {
    if (inode.size >= inode.content.length)
      throw ext4Invalid(`the link of inode ${inode.number} is truncated`);
    return inode.content.toString('utf8', 0, inode.size);
  }
  const pieces: Buffer[] = [];
  for await (const piece of readContent(source, shape, inode)) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

/** The old form has 8 bits for each number; the new one is behind it. */
function deviceNumber(inode: Inode): { major: number; minor: number } {
  const old = inode.content.readUInt32LE(0);
  if (old !== 0) return { major: (old >> 8) & 0xff, minor: old & 0xff };
  const value = inode.content.readUInt32LE(4);
  return { major: (value >>> 8) & 0xfff, minor: (value & 0xff) | ((value >>> 12) & 0xf_ff00) };
}

async function readNames(source: ByteSource, shape: Superblock, folder: Inode): Promise<Name[]> {
  if (folder.isInline) {
    return parseInline(shape, folder, (await readInline(source, shape, folder)).subarray(60));
  }
  const { blockSize } = shape;
  if (folder.size === 0 || folder.size % blockSize !== 0) {
    throw ext4Invalid(`the directory of inode ${folder.number} has an impossible size`);
  }
  const found: Name[] = [];
  const blocks = folder.size / blockSize;
  let next = 0;
  for await (const run of readRuns(source, shape, folder)) {
    if (run.logical !== next || run.isUnwritten) break;
    for (let index = 0; index < run.blocks && next < blocks; index += 1) {
      const block = await readBytes(source, (run.physical + index) * blockSize, blockSize);
      found.push(...parseBlock(shape, folder, block, next === 0));
      next += 1;
    }
  }
  if (next < blocks) throw ext4Invalid(`the directory of inode ${folder.number} has a hole`);
  return found;
}

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
