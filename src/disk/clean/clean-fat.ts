// Cleans an EFI system partition: removes files, and clears what deleted files left.
import type { FileHandle } from 'node:fs/promises';
import { type ByteSource, writeFully } from '../bytes/byte-source.ts';
import { type FatFile, type FatVolume, placeOf, readFatVolume } from './fat-files.ts';
import { writeZeros } from './zeroing.ts';

/** Returns the paths that were removed. A second call removes and writes nothing. */
export async function cleanFat(
  handle: FileHandle,
  offset: number,
  source: ByteSource,
  isRemoved: (path: string) => boolean,
): Promise<readonly string[]> {
  const volume = await readFatVolume(source);
  const removed = volume.files.filter(({ path }) => isRemoved(path));
  for (const file of removed) await removeFile(handle, offset, volume, file);
  const { infoOffset } = volume;
  // An unknown count of free clusters: the next writer counts again.
  if (removed.length > 0 && infoOffset !== undefined)
    await writeFully(handle, offset + infoOffset + 488, Buffer.alloc(8, 0xff));
  for (const entry of volume.deleted) await writeZeros(handle, offset + entry + 1, 31);
  await clearUnused(handle, offset, volume, new Set(removed.flatMap(({ clusters }) => clusters)));
  for (const { size, clusters } of volume.files.filter((file) => !removed.includes(file))) {
    const last = clusters.at(-1);
    const shown = size - (clusters.length - 1) * volume.clusterSize;
    if (last === undefined || shown < 0 || shown >= volume.clusterSize) continue;
    await writeZeros(handle, offset + placeOf(volume, last).offset + shown, volume.clusterSize - shown);
  }
  return removed.map(({ path }) => path);
}

async function removeFile(
  handle: FileHandle,
  offset: number,
  { tables, tableOffset, tableSize, entrySize }: FatVolume,
  { clusters, entries }: FatFile,
): Promise<void> {
  const deleted = Buffer.alloc(32);
  deleted.writeUInt8(0xe5, 0);
  for (const entry of entries) await writeFully(handle, offset + entry, deleted);
  for (let table = 0; table < tables; table += 1) {
    for (const cluster of clusters) {
      const at = tableOffset + table * tableSize + cluster * entrySize;
      await writeFully(handle, offset + at, Buffer.alloc(entrySize));
    }
  }
}

async function clearUnused(
  handle: FileHandle,
  offset: number,
  volume: FatVolume,
  removed: ReadonlySet<number>,
): Promise<void> {
  const isFree = (cluster: number) => volume.next[cluster] === 0 || removed.has(cluster);
  const end = volume.clusters + 2;
  for (let first = 2; first < end; first += 1) {
    let last = first;
    while (last < end && isFree(last)) last += 1;
    if (last === first) continue;
    const { offset: start } = placeOf(volume, first);
    await writeZeros(handle, offset + start, (last - first) * volume.clusterSize);
    first = last;
  }
}
