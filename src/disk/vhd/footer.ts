// The 512-byte footer that makes a raw disk a VHD, and the 1024-byte header of the dynamic kind, as
// Microsoft's Virtual Hard Disk specification 1.0 lays them down. All numbers are big-endian.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { formatUuid, uuidBytes } from '../bytes/guid.ts';

export const vhdSector = 512;
/** The largest disk that the block table of a dynamic VHD can address. */
export const vhdMaxDynamicSize = 2040 * 1024 ** 3;

const year2000 = 946_684_800;
const noOffset = 0xffff_ffff_ffff_ffffn;

export type VhdKind = 'fixed' | 'dynamic';

export interface VhdIdentity {
  /** Seconds since 1970; the footer cannot hold anything before 2000. */
  readonly timestamp: number;
  readonly uuid: string;
}

export interface VhdFooter extends VhdIdentity {
  readonly kind: VhdKind;
  /** Size of the disk in bytes, without footer or tables. */
  readonly size: number;
  /** Where the dynamic header stands; undefined for a fixed disk. */
  readonly headerOffset: number | undefined;
}

export interface VhdHeader {
  readonly tableOffset: number;
  readonly tableEntries: number;
  readonly blockSize: number;
}

export function vhdInvalid(message: string): ImagoError {
  return new ImagoError('vhd-invalid', message);
}

function checksum(bytes: Buffer, at: number): number {
  let sum = 0;
  for (const [index, byte] of bytes.entries()) {
    if (index < at || index >= at + 4) sum += byte;
  }
  return ~sum >>> 0;
}

/** Cylinders, heads and sectors as the specification's appendix computes them. */
function geometry(size: number): { cylinders: number; heads: number; sectors: number } {
  const total = Math.min(Math.floor(size / vhdSector), 65535 * 16 * 255);
  if (total >= 65535 * 16 * 63) return split(total, 16, 255);
  const first = Math.max(4, Math.floor((Math.floor(total / 17) + 1023) / 1024));
  if (Math.floor(total / 17) < first * 1024 && first <= 16) return split(total, first, 17);
  if (Math.floor(total / 31) < 16 * 1024) return split(total, 16, 31);
  return split(total, 16, 63);
}

function split(total: number, heads: number, sectors: number) {
  return { cylinders: Math.min(65535, Math.floor(Math.floor(total / sectors) / heads)), heads, sectors };
}

export function encodeVhdFooter(kind: VhdKind, size: number, identity: VhdIdentity): Buffer {
  if (size <= 0 || size % vhdSector !== 0) throw vhdInvalid(`a disk of ${size} bytes is not whole sectors`);
  const bytes = Buffer.alloc(vhdSector);
  const { cylinders, heads, sectors } = geometry(size);
  bytes.write('conectix', 0, 'latin1');
  bytes.writeUInt32BE(2, 8);
  bytes.writeUInt32BE(0x0001_0000, 12);
  bytes.writeBigUInt64BE(kind === 'fixed' ? noOffset : BigInt(vhdSector), 16);
  bytes.writeUInt32BE(Math.min(0xffff_ffff, Math.max(0, identity.timestamp - year2000)), 24);
  // Readers trust the size rather than the geometry for disks that Windows made.
  bytes.write('win ', 28, 'latin1');
  bytes.writeUInt32BE(0x000a_0000, 32);
  bytes.write('Wi2k', 36, 'latin1');
  bytes.writeBigUInt64BE(BigInt(size), 40);
  bytes.writeBigUInt64BE(BigInt(size), 48);
  bytes.writeUInt16BE(cylinders, 56);
  bytes.writeUInt8(heads, 58);
  bytes.writeUInt8(sectors, 59);
  bytes.writeUInt32BE(kind === 'fixed' ? 2 : 3, 60);
  uuidBytes(identity.uuid).copy(bytes, 68);
  bytes.writeUInt32BE(checksum(bytes, 64), 64);
  return bytes;
}

export function isVhdFooter(bytes: Buffer): boolean {
  return bytes.length === vhdSector && bytes.toString('latin1', 0, 8) === 'conectix';
}

export function decodeVhdFooter(bytes: Buffer): VhdFooter {
  if (!isVhdFooter(bytes)) throw vhdInvalid('the file does not end with a VHD footer');
  if (bytes.readUInt32BE(64) !== checksum(bytes, 64))
    throw vhdInvalid('the VHD footer is damaged: wrong checksum');
  const version = bytes.readUInt32BE(12);
  if (version !== 0x0001_0000) throw vhdInvalid(`VHD format ${version.toString(16)} is unknown`);
  const type = bytes.readUInt32BE(60);
  if (type === 4)
    throw vhdInvalid('the VHD is a differencing disk: it needs its parent, and cannot be read alone');
  if (type !== 2 && type !== 3) throw vhdInvalid(`VHD disk type ${type} is unknown`);
  if (bytes.readUInt8(84) !== 0) throw vhdInvalid('the VHD belongs to a machine in a saved state');
  const size = safeNumber(bytes.readBigUInt64BE(48), 'size');
  if (size === 0 || size % vhdSector !== 0)
    throw vhdInvalid(`the VHD's size of ${size} bytes is not whole sectors`);
  const offset = bytes.readBigUInt64BE(16);
  return {
    kind: type === 2 ? 'fixed' : 'dynamic',
    size,
    headerOffset: type === 2 ? undefined : safeNumber(offset, 'header offset'),
    timestamp: bytes.readUInt32BE(24) + year2000,
    uuid: formatUuid(bytes.subarray(68, 84)),
  };
}

export function encodeVhdHeader(header: VhdHeader): Buffer {
  const bytes = Buffer.alloc(1024);
  bytes.write('cxsparse', 0, 'latin1');
  bytes.writeBigUInt64BE(noOffset, 8);
  bytes.writeBigUInt64BE(BigInt(header.tableOffset), 16);
  bytes.writeUInt32BE(0x0001_0000, 24);
  bytes.writeUInt32BE(header.tableEntries, 28);
  bytes.writeUInt32BE(header.blockSize, 32);
  bytes.writeUInt32BE(checksum(bytes, 36), 36);
  return bytes;
}

export function decodeVhdHeader(bytes: Buffer): VhdHeader {
  if (bytes.toString('latin1', 0, 8) !== 'cxsparse') throw vhdInvalid('the VHD has no dynamic disk header');
  if (bytes.readUInt32BE(36) !== checksum(bytes, 36)) {
    throw vhdInvalid('the dynamic disk header is damaged: wrong checksum');
  }
  const version = bytes.readUInt32BE(24);
  if (version !== 0x0001_0000) throw vhdInvalid(`dynamic disk header ${version.toString(16)} is unknown`);
  const blockSize = bytes.readUInt32BE(32);
  if (blockSize < 4096 || blockSize > 2 ** 28 || (blockSize & (blockSize - 1)) !== 0) {
    throw vhdInvalid(
      `the VHD's block size of ${blockSize} bytes is not a power of two from 4 KiB to 256 MiB`,
    );
  }
  return {
    tableOffset: safeNumber(bytes.readBigUInt64BE(16), 'table offset'),
    tableEntries: bytes.readUInt32BE(28),
    blockSize,
  };
}

function safeNumber(value: bigint, what: string): number {
  if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw vhdInvalid(`the VHD's ${what} is too large to be true`);
  return Number(value);
}
