// Reads GUID partition tables strictly: both copies must be whole and agree, and nothing may overlap.
import { crc32 } from 'node:zlib';
import { type ByteSource, readBytes } from '../bytes/byte-source.ts';
import { formatEfiGuid } from '../bytes/guid.ts';
import {
  checkPartitions,
  type Gpt,
  type GptPartition,
  gptEntrySize,
  gptInvalid,
  sectorSize,
} from './table.ts';

const emptyGuid = '00000000-0000-0000-0000-000000000000';

interface RawHeader {
  readonly other: number;
  readonly table: number;
  readonly count: number;
  readonly size: number;
  readonly gpt: Gpt;
  readonly entries: Buffer;
}

/** Reads both copies of the table; throws `gpt-invalid` when one is damaged or they differ. */
export async function readGpt(disk: ByteSource): Promise<Gpt> {
  if (disk.size < 68 * sectorSize || disk.size % sectorSize !== 0)
    throw gptInvalid('the disk is too small for a GPT');
  checkMbr(await readBytes(disk, 0, sectorSize));
  const lastSector = disk.size / sectorSize - 1;
  const primary = await readHeader(disk, 1);
  if (primary.other !== lastSector) throw gptInvalid('the backup table is not at the end of the disk');
  const backup = await readHeader(disk, lastSector);
  if (backup.other !== 1) throw gptInvalid('the backup table does not point at the first one');
  if (!backup.entries.equals(primary.entries) || !sameHeader(backup.gpt, primary.gpt)) {
    throw gptInvalid('the two copies of the partition table differ');
  }
  checkTablePlaces(primary, backup, lastSector);
  checkPartitions(primary.gpt);
  return primary.gpt;
}

function sameHeader(a: Gpt, b: Gpt): boolean {
  return a.diskGuid === b.diskGuid && a.firstUsable === b.firstUsable && a.lastUsable === b.lastUsable;
}

function checkMbr(bytes: Buffer): void {
  if (bytes.readUInt16LE(510) !== 0xaa55) throw gptInvalid('the first sector is not a boot record');
  if (bytes.readUInt8(450) !== 0xee || bytes.readUInt32LE(454) !== 1)
    throw gptInvalid('the boot record protects no GPT');
}

async function readHeader(disk: ByteSource, sector: number): Promise<RawHeader> {
  const bytes = await readBytes(disk, sector * sectorSize, sectorSize);
  if (bytes.toString('latin1', 0, 8) !== 'EFI PART')
    throw gptInvalid(`sector ${sector} holds no partition table`);
  const headerSize = bytes.readUInt32LE(12);
  if (bytes.readUInt32LE(8) !== 0x0001_0000 || headerSize < 92 || headerSize > sectorSize) {
    throw gptInvalid(`the table at sector ${sector} has an unknown revision`);
  }
  const stated = bytes.readUInt32LE(16);
  bytes.writeUInt32LE(0, 16);
  if (crc32(bytes.subarray(0, headerSize)) !== stated)
    throw gptInvalid(`the table at sector ${sector} is damaged`);
  const lastSector = disk.size / sectorSize - 1;
  const number = (at: number) => sectorNumber(bytes.readBigUInt64LE(at), lastSector);
  if (number(24) !== sector) throw gptInvalid(`the table at sector ${sector} says that it stands elsewhere`);
  const table = number(72);
  const count = bytes.readUInt32LE(80);
  const size = bytes.readUInt32LE(84);
  if (size !== gptEntrySize || count < 1 || count > 1024)
    throw gptInvalid(`${count} entries of ${size} bytes are not usual`);
  if (table * sectorSize + count * size > disk.size) throw gptInvalid('the entries lie outside of the disk');
  const entries = await readBytes(disk, table * sectorSize, count * size);
  if (crc32(entries) !== bytes.readUInt32LE(88))
    throw gptInvalid(`the entries of the table at sector ${sector} are damaged`);
  return {
    other: number(32),
    table,
    count,
    size,
    entries,
    gpt: {
      diskGuid: formatEfiGuid(bytes.subarray(56, 72)),
      firstUsable: number(40),
      lastUsable: number(48),
      partitions: decodeEntries(entries, lastSector),
    },
  };
}

function sectorNumber(value: bigint, lastSector: number): number {
  if (value > BigInt(lastSector)) throw gptInvalid(`sector ${value} is behind the end of the disk`);
  return Number(value);
}

function decodeEntries(entries: Buffer, lastSector: number): GptPartition[] {
  const partitions: GptPartition[] = [];
  for (let at = 0; at < entries.length; at += gptEntrySize) {
    const type = formatEfiGuid(entries.subarray(at, at + 16));
    if (type === emptyGuid) continue;
    partitions.push({
      number: at / gptEntrySize + 1,
      type,
      guid: formatEfiGuid(entries.subarray(at + 16, at + 32)),
      firstSector: sectorNumber(entries.readBigUInt64LE(at + 32), lastSector),
      lastSector: sectorNumber(entries.readBigUInt64LE(at + 40), lastSector),
      attributes: entries.readBigUInt64LE(at + 48),
      name: entries.toString('utf16le', at + 56, at + 128).replace(/\0.*$/s, ''),
    });
  }
  return partitions;
}

function checkTablePlaces(primary: RawHeader, backup: RawHeader, lastSector: number): void {
  const length = Math.ceil((primary.count * primary.size) / sectorSize);
  const { firstUsable, lastUsable } = primary.gpt;
  if (primary.table < 2 || primary.table + length > firstUsable)
    throw gptInvalid('the entries overlap the usable sectors');
  if (backup.table <= lastUsable || backup.table + length > lastSector) {
    throw gptInvalid('the backup entries overlap the usable sectors or their header');
  }
}
