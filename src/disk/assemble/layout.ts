// Where everything is on the disk, and the ids of its parts.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { deriveUuid, uuidBytes } from '../bytes/guid.ts';
import { type GptPartition, legacyBiosBootable, partitionTypes, sectorSize } from '../gpt/table.ts';

export interface DiskPart {
  readonly number: number;
  readonly guid: string;
  readonly offset: number;
  readonly size: number;
}

export interface DiskLayout {
  readonly diskGuid: string;
  readonly esp: DiskPart;
  readonly root: DiskPart;
  readonly partitions: readonly GptPartition[];
  readonly filesystemUuid: string;
  readonly hashSeed: string;
  /** Of the FAT file system. */
  readonly volumeId: number;
}

const mebibyte = 1024 * 1024;
const espSize = 64 * mebibyte;
/** What a disk has besides its root. */
export const aroundRootBytes = espSize + 2 * mebibyte;
export const leastDiskBytes = 128 * mebibyte;

/**
 * 1 MiB for the table, 64 MiB for the EFI system partition, the rest for the root but for the last MiB.
 * The root is last, so that it can grow with its disk.
 */
export function layOutDisk(size: number, seed: string): DiskLayout {
  if (size % mebibyte !== 0 || size < leastDiskBytes) {
    throw new ImagoError(
      'disk-layout-invalid',
      `a disk has whole MiB and at least 128 of them, not ${size} bytes`,
    );
  }
  const esp = { number: 1, guid: deriveUuid(seed, 'esp partition'), offset: mebibyte, size: espSize };
  const rootOffset = mebibyte + espSize;
  const root = {
    number: 2,
    guid: deriveUuid(seed, 'root partition'),
    offset: rootOffset,
    size: size - aroundRootBytes,
  };
  return {
    diskGuid: deriveUuid(seed, 'disk'),
    esp,
    root,
    partitions: [
      entry(esp, partitionTypes.efiSystem, 'esp', legacyBiosBootable),
      entry(root, partitionTypes.linuxRootX64, 'root', 0n),
    ],
    filesystemUuid: deriveUuid(seed, 'root file system'),
    hashSeed: deriveUuid(seed, 'directory hashes'),
    volumeId: uuidBytes(deriveUuid(seed, 'esp file system')).readUInt32BE(0),
  };
}

function entry(part: DiskPart, type: string, name: string, attributes: bigint): GptPartition {
  return {
    number: part.number,
    type,
    guid: part.guid,
    firstSector: part.offset / sectorSize,
    lastSector: (part.offset + part.size) / sectorSize - 1,
    attributes,
    name,
  };
}
