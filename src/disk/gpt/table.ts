// GUID partition tables: what they hold, and a writer whose bytes depend on nothing but its input.
// Only 512-byte sectors, which is what clouds and QEMU present.
import { crc32 } from 'node:zlib';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { efiGuidBytes } from '../bytes/guid.ts';

export const sectorSize = 512;
export const gptEntrySize = 128;
const entryCount = 128;
const tableSectors = (gptEntrySize * entryCount) / sectorSize;

export const partitionTypes = {
  efiSystem: 'c12a7328-f81f-11d2-ba4b-00a0c93ec93b',
  linuxRootX64: '4f68bce3-e8cd-4db1-96e7-fbcaf984b709',
} as const;

/** Bit 2: a BIOS boot program (syslinux' gptmbr) starts the partition that has it. */
export const legacyBiosBootable = 1n << 2n;

export interface GptPartition {
  /** Its place in the table, from 1: the 2 of /dev/sda2. */
  readonly number: number;
  readonly type: string;
  readonly guid: string;
  readonly firstSector: number;
  /** The last sector that belongs to it. */
  readonly lastSector: number;
  readonly attributes: bigint;
  readonly name: string;
}

export interface Gpt {
  readonly diskGuid: string;
  readonly firstUsable: number;
  readonly lastUsable: number;
  readonly partitions: readonly GptPartition[];
}

export interface GptBytes {
  /** Protective MBR, header and entries: goes to the start of the disk. */
  readonly primary: Buffer;
  /** Entries and header: goes to `backupOffset`, and ends the disk. */
  readonly backup: Buffer;
  readonly backupOffset: number;
}

export function gptInvalid(message: string): ImagoError {
  return new ImagoError('gpt-invalid', message);
}

/** Lays out a table for a disk of `size` bytes. `bootCode` (up to 440 bytes) is what a BIOS starts. */
export function encodeGpt(
  size: number,
  diskGuid: string,
  partitions: readonly GptPartition[],
  bootCode?: Uint8Array,
): GptBytes {
  if (size % sectorSize !== 0) throw gptInvalid(`a disk of ${size} bytes is not whole sectors`);
  const sectors = size / sectorSize;
  const gpt: Gpt = {
    diskGuid,
    firstUsable: 2 + tableSectors,
    lastUsable: sectors - 2 - tableSectors,
    partitions,
  };
  checkEntries(partitions);
  checkPartitions(gpt);
  const entries = encodeEntries(partitions);
  const lastSector = sectors - 1;
  return {
    primary: Buffer.concat([
      protectiveMbr(sectors, bootCode),
      encodeHeader(gpt, entries, 1, lastSector, 2),
      entries,
    ]),
    backup: Buffer.concat([entries, encodeHeader(gpt, entries, lastSector, 1, lastSector - tableSectors)]),
    backupOffset: (lastSector - tableSectors) * sectorSize,
  };
}

function protectiveMbr(sectors: number, bootCode: Uint8Array | undefined): Buffer {
  const bytes = Buffer.alloc(sectorSize);
  if (bootCode !== undefined) {
    if (bootCode.length > 440)
      throw gptInvalid(`boot code of ${bootCode.length} bytes does not fit into 440`);
    bytes.set(bootCode, 0);
  }
  bytes.set([0x00, 0x00, 0x02, 0x00, 0xee, 0xff, 0xff, 0xff], 446);
  bytes.writeUInt32LE(1, 454);
  bytes.writeUInt32LE(Math.min(sectors - 1, 0xffff_ffff), 458);
  bytes.writeUInt16LE(0xaa55, 510);
  return bytes;
}

function encodeEntries(partitions: readonly GptPartition[]): Buffer {
  const bytes = Buffer.alloc(gptEntrySize * entryCount);
  for (const partition of partitions) {
    const at = (partition.number - 1) * gptEntrySize;
    efiGuidBytes(partition.type).copy(bytes, at);
    efiGuidBytes(partition.guid).copy(bytes, at + 16);
    bytes.writeBigUInt64LE(BigInt(partition.firstSector), at + 32);
    bytes.writeBigUInt64LE(BigInt(partition.lastSector), at + 40);
    bytes.writeBigUInt64LE(partition.attributes, at + 48);
    bytes.write(partition.name, at + 56, 'utf16le');
  }
  return bytes;
}

function encodeHeader(gpt: Gpt, entries: Buffer, own: number, other: number, table: number): Buffer {
  const bytes = Buffer.alloc(sectorSize);
  bytes.write('EFI PART', 0, 'latin1');
  bytes.writeUInt32LE(0x0001_0000, 8);
  bytes.writeUInt32LE(92, 12);
  bytes.writeBigUInt64LE(BigInt(own), 24);
  bytes.writeBigUInt64LE(BigInt(other), 32);
  bytes.writeBigUInt64LE(BigInt(gpt.firstUsable), 40);
  bytes.writeBigUInt64LE(BigInt(gpt.lastUsable), 48);
  efiGuidBytes(gpt.diskGuid).copy(bytes, 56);
  bytes.writeBigUInt64LE(BigInt(table), 72);
  bytes.writeUInt32LE(entryCount, 80);
  bytes.writeUInt32LE(gptEntrySize, 84);
  bytes.writeUInt32LE(crc32(entries), 88);
  bytes.writeUInt32LE(crc32(bytes.subarray(0, 92)), 16);
  return bytes;
}

function checkEntries(partitions: readonly GptPartition[]): void {
  const numbers = new Set<number>();
  for (const { number, name } of partitions) {
    if (!Number.isInteger(number) || number < 1 || number > entryCount || numbers.has(number)) {
      throw gptInvalid(`partition number ${number} is not free or not from 1 to ${entryCount}`);
    }
    if (name.length > 36) throw gptInvalid(`partition name ${name} is longer than 36 characters`);
    numbers.add(number);
  }
}

/** Throws `gpt-invalid` when partitions overlap or leave the usable sectors. */
export function checkPartitions(gpt: Gpt): void {
  let before: GptPartition | undefined;
  for (const partition of gpt.partitions.toSorted((a, b) => a.firstSector - b.firstSector)) {
    const { number, firstSector, lastSector } = partition;
    if (firstSector > lastSector) throw gptInvalid(`partition ${number} ends before it begins`);
    if (firstSector < gpt.firstUsable || lastSector > gpt.lastUsable) {
      throw gptInvalid(`partition ${number} lies outside of sectors ${gpt.firstUsable} to ${gpt.lastUsable}`);
    }
    if (before !== undefined && before.lastSector >= firstSector) {
      throw gptInvalid(`partitions ${before.number} and ${number} overlap`);
    }
    before = partition;
  }
}
