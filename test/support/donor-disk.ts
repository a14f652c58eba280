// A disk for tests of cleaning: a GUID partition table over file systems that were made as files.
import { open, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { openFileSource, readBytes, writeFully } from '../../src/disk/bytes/byte-source.ts';
import { isZero } from '../../src/disk/bytes/extent.ts';
import { encodeGpt, partitionTypes, sectorSize } from '../../src/disk/gpt/table.ts';

export interface TestPart {
  readonly type: string;
  /** A file with the content of the partition. */
  readonly file: string;
}

export const linuxData = '0fc63daf-8483-4772-8e79-3d69d8477de4';
export const linuxSwap = '0657fd6d-a4ab-43c4-84e5-0933c83b4f4f';
export const linuxRoot = partitionTypes.linuxRootX64;

const mebibyte = 1024 * 1024;

function partGuid(index: number): string {
  return `00000000-0000-4000-8000-00000000000${index + 1}`;
}

/** Where a partition starts, in bytes. */
export interface TestDisk {
  readonly path: string;
  readonly offsets: readonly number[];
}

/** The path of the new disk, which is `name` in `folder`. */
export async function makeDisk(folder: string, name: string, parts: readonly TestPart[]): Promise<TestDisk> {
  const path = join(folder, name);
  const sources = await Promise.all(parts.map(({ file }) => openFileSource(file)));
  const handle = await open(path, 'w');
  try {
    let end = mebibyte;
    const places = sources.map(({ size }) => {
      const offset = end;
      end += Math.ceil(size / mebibyte) * mebibyte;
      return { offset, size };
    });
    await truncate(path, end + mebibyte);
    const partitions = places.map(({ offset, size }, index) => ({
      number: index + 1,
      type: parts[index]?.type ?? '',
      guid: partGuid(index),
      firstSector: offset / sectorSize,
      lastSector: (offset + size) / sectorSize - 1,
      attributes: 0n,
      name: '',
    }));
    const gpt = encodeGpt(end + mebibyte, '00000000-0000-4000-8000-0000000000ff', partitions);
    await writeFully(handle, 0, gpt.primary);
    await writeFully(handle, gpt.backupOffset, gpt.backup);
    for (const [index, source] of sources.entries()) {
      for (let at = 0; at < source.size; at += mebibyte) {
        const bytes = await readBytes(source, at, Math.min(mebibyte, source.size - at));
        if (!isZero(bytes)) await writeFully(handle, (places[index]?.offset ?? 0) + at, bytes);
      }
    }
    return { path, offsets: places.map(({ offset }) => offset) };
  } finally {
    await handle.close();
    for (const source of sources) await source.close();
  }
}
