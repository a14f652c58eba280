// The partitions of any disk: of a GUID partition table, or the four of a boot record, as machines of the first
// generation have them.
import { type ByteSource, partOf, readBytes } from '../bytes/byte-source.ts';
import { readGpt } from './reader.ts';
import { gptInvalid, sectorSize } from './table.ts';

export interface DiskPartition {
  readonly number: number;
  /** The GUID of a partition's type, or the byte of it in hexadecimal. */
  readonly type: string;
  readonly source: ByteSource;
}

/** In the order of the table. Throws `gpt-invalid`. */
export async function readPartitions(disk: ByteSource): Promise<readonly DiskPartition[]> {
  if (disk.size < sectorSize) throw gptInvalid('the disk is too small for a partition table');
  const record = await readBytes(disk, 0, sectorSize);
  const entries = [0, 1, 2, 3].map((index) => record.subarray(446 + index * 16, 462 + index * 16));
  const isOld = record.readUInt16LE(510) === 0xaa55 && entries.every((entry) => entry[4] !== 0xee);
  if (!isOld) {
    const { partitions } = await readGpt(disk);
    return partitions.map(({ number, type, firstSector, lastSector }) => {
      const size = (lastSector - firstSector + 1) * sectorSize;
      return { number, type, source: partOf(disk, firstSector * sectorSize, size) };
    });
  }
  return entries.flatMap((entry, index): DiskPartition[] => {
    const [start, length] = [entry.readUInt32LE(8) * sectorSize, entry.readUInt32LE(12) * sectorSize];
    if (entry[4] === 0 || length === 0) return [];
    if (start === 0 || start + length > disk.size) throw gptInvalid('a partition lies outside of the disk');
    const type = (entry[4] ?? 0).toString(16).padStart(2, '0');
    return [{ number: index + 1, type, source: partOf(disk, start, length) }];
  });
}
