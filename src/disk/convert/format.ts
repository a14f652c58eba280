// The format of a disk file, found by looking into it.
import { type DiskFormat, diskFileFormat, diskSector } from '../../domain/image/disk-file.ts';
import { type ByteSource, readBytes } from '../bytes/byte-source.ts';

export type { DiskFormat } from '../../domain/image/disk-file.ts';

/** Throws `input-invalid` for what is not a disk, or cannot be read alone. */
export async function detectDiskFormat(file: ByteSource): Promise<DiskFormat> {
  const length = Math.min(diskSector, file.size);
  return diskFileFormat({
    size: file.size,
    start: await readBytes(file, 0, length),
    end: await readBytes(file, file.size - length, length),
  });
}
