// The superblock: the shape of the file system, and whether Imago can and may read it.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { type ByteSource, readBytes } from '../bytes/byte-source.ts';
import { formatUuid } from '../bytes/guid.ts';
import { crc32c } from './crc32c.ts';
import { ext4Invalid } from './invalid.ts';

export interface Superblock {
  readonly blockSize: number;
  readonly blocks: number;
  readonly freeBlocks: number;
  readonly inodes: number;
  readonly freeInodes: number;
  readonly firstDataBlock: number;
  readonly blocksPerGroup: number;
  readonly inodesPerGroup: number;
  readonly groups: number;
  readonly inodeSize: number;
  readonly descriptorSize: number;
  /** The first block of descriptors that lies in the group it describes; `undefined` when all lie at the start. */
  readonly firstMetaGroup: number | undefined;
  /** Whether every metadata block carries a checksum, and what each begins with. */
  readonly checksumSeed: number | undefined;
  readonly hasFileTypes: boolean;
  readonly hasSparseBackups: boolean;
  readonly uuid: string;
  readonly label: string;
}

export interface SuperblockOptions {
  /** Reads a file system whose journal is not empty as it is on the disk, without the journal's changes. */
  readonly allowUnclean?: boolean;
}

const incompatible = {
  filetype: 0x2,
  recover: 0x4,
  metaGroups: 0x10,
  extents: 0x40,
  wide: 0x80,
  multipleMount: 0x100,
  flexGroups: 0x200,
  checksumSeed: 0x2000,
  largeFolders: 0x4000,
  inlineData: 0x8000,
} as const;
const readable = Object.values(incompatible).reduce((all, bit) => all | bit, 0);
const sparseSuper = 0x1;
const metadataChecksums = 0x400;
const orphansPresent = 0x1_0000;

/** Throws `ext4-invalid` for what is not ext4 or cannot be true, `ext4-unclean` for what must be repaired first. */
export async function readSuperblock(
  source: ByteSource,
  options: SuperblockOptions = {},
): Promise<Superblock> {
  if (source.size < 2048) throw ext4Invalid('it is too small');
  const bytes = await readBytes(source, 1024, 1024);
  if (bytes.readUInt16LE(0x38) !== 0xef53) throw ext4Invalid('it is not ext4');
  const features = bytes.readUInt32LE(0x60);
  const readOnly = bytes.readUInt32LE(0x64);
  if ((features & ~readable) !== 0) {
    throw ext4Invalid(`it uses features that Imago does not know (${(features & ~readable).toString(16)})`);
  }
  const checksumSeed = (readOnly & metadataChecksums) === 0 ? undefined : seedOf(bytes, features);
  const superblock = decode(bytes, features, readOnly, checksumSeed);
  checkShape(superblock, source.size);
  const isDirty = (features & incompatible.recover) !== 0 || (readOnly & orphansPresent) !== 0;
  const hasErrors = (bytes.readUInt16LE(0x3a) & 2) !== 0;
  if ((isDirty || hasErrors) && options.allowUnclean !== true) {
    const why = hasErrors ? 'is marked as faulty' : 'has a journal that was not replayed';
    throw new ImagoError('ext4-unclean', `the file system ${why}`);
  }
  return superblock;
}

function seedOf(bytes: Buffer, features: number): number {
  if (bytes.readUInt8(0x175) !== 1) throw ext4Invalid('its checksums are of an unknown kind');
  if (crc32c(0xffff_ffff, bytes.subarray(0, 0x3fc)) !== bytes.readUInt32LE(0x3fc)) {
    throw ext4Invalid('its superblock is damaged');
  }
  if ((features & incompatible.checksumSeed) !== 0) return bytes.readUInt32LE(0x270);
  return crc32c(0xffff_ffff, bytes.subarray(0x68, 0x78));
}

function decode(
  bytes: Buffer,
  features: number,
  readOnly: number,
  checksumSeed: number | undefined,
): Superblock {
  const isWide = (features & incompatible.wide) !== 0;
  const wide = (low: number, high: number) =>
    bytes.readUInt32LE(low) + (isWide ? bytes.readUInt32LE(high) * 2 ** 32 : 0);
  const logBlock = bytes.readUInt32LE(0x18);
  if (logBlock > 6) throw ext4Invalid('its blocks are of an impossible size');
  const blocks = wide(0x4, 0x150);
  const firstDataBlock = bytes.readUInt32LE(0x14);
  const blocksPerGroup = bytes.readUInt32LE(0x20);
  return {
    blockSize: 1024 << logBlock,
    blocks,
    freeBlocks: wide(0xc, 0x158),
    inodes: bytes.readUInt32LE(0),
    freeInodes: bytes.readUInt32LE(0x10),
    firstDataBlock,
    blocksPerGroup,
    inodesPerGroup: bytes.readUInt32LE(0x28),
    groups: Math.ceil((blocks - firstDataBlock) / Math.max(1, blocksPerGroup)),
    inodeSize: bytes.readUInt32LE(0x4c) === 0 ? 128 : bytes.readUInt16LE(0x58),
    descriptorSize: isWide ? bytes.readUInt16LE(0xfe) : 32,
    firstMetaGroup: (features & incompatible.metaGroups) === 0 ? undefined : bytes.readUInt32LE(0x104),
    checksumSeed,
    hasFileTypes: (features & incompatible.filetype) !== 0,
    hasSparseBackups: (readOnly & sparseSuper) !== 0,
    uuid: formatUuid(bytes.subarray(0x68, 0x78)),
    label: bytes.toString('utf8', 0x78, 0x88).replace(/\0.*$/s, ''),
  };
}

function checkShape(shape: Superblock, size: number): void {
  const { blockSize, blocks, groups, inodeSize, descriptorSize, inodesPerGroup, blocksPerGroup } = shape;
  const isPower = (value: number) => value > 0 && (value & (value - 1)) === 0;
  if (!Number.isSafeInteger(blocks * blockSize) || blocks * blockSize > size || blocks < 8) {
    throw ext4Invalid('it says that it is larger than its partition');
  }
  if (shape.firstDataBlock !== (blockSize === 1024 ? 1 : 0))
    throw ext4Invalid('its first block is misplaced');
  if (blocksPerGroup < 8 || blocksPerGroup > 8 * blockSize * 16)
    throw ext4Invalid('its groups are misshapen');
  if (!isPower(inodeSize) || inodeSize < 128 || inodeSize > blockSize)
    throw ext4Invalid('its inodes are of an impossible size');
  if (!isPower(descriptorSize) || descriptorSize < 32 || descriptorSize > blockSize)
    throw ext4Invalid('its group descriptors are of an impossible size');
  if (inodesPerGroup < 1 || inodesPerGroup > 8 * blockSize || shape.inodes > groups * inodesPerGroup)
    throw ext4Invalid('it has more inodes than fit into its groups');
  if (shape.freeBlocks > blocks || shape.freeInodes > shape.inodes)
    throw ext4Invalid('it says that more is free than there is');
}
