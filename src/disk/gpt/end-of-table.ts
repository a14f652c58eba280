// Machines can have a larger disk than their image. A system that does not grow its partition table leaves the rest
// unused, and the second copy of the table in the middle: such a disk ends there.
import { open, truncate } from 'node:fs/promises';
import { sectorSize } from './table.ts';

/** Cuts the raw disk file after its table's second copy. Leaves a disk alone that ends there, or has no such table. */
export async function endAtTable(path: string): Promise<void> {
  const file = await open(path, 'r');
  try {
    const header = Buffer.alloc(sectorSize);
    await file.read(header, 0, sectorSize, sectorSize);
    if (header.toString('latin1', 0, 8) !== 'EFI PART') return;
    const end = (Number(header.readBigUInt64LE(32)) + 1) * sectorSize;
    const { size } = await file.stat();
    if (end < size && (await isTable(file, end - sectorSize))) await truncate(path, end);
  } finally {
    await file.close();
  }
}

async function isTable(file: Awaited<ReturnType<typeof open>>, at: number): Promise<boolean> {
  const name = Buffer.alloc(8);
  await file.read(name, 0, name.length, at);
  return name.toString('latin1') === 'EFI PART';
}
