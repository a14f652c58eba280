// Writes VHD disks. A fixed one is the raw disk itself with a footer behind it, so it is made in place;
// a dynamic one is copied block by block, without the blocks that are zero.
import { type FileHandle, open } from 'node:fs/promises';
import { throwIfAborted } from '../../async/abort.ts';
import { type ByteSource, readBytes, readFully, writeFully } from '../bytes/byte-source.ts';
import { type Extent, isZero } from '../bytes/extent.ts';
import {
  encodeVhdFooter,
  encodeVhdHeader,
  isVhdFooter,
  type VhdIdentity,
  vhdInvalid,
  vhdMaxDynamicSize,
  vhdSector,
} from './footer.ts';

const mebibyte = 1024 * 1024;
const blockSize = 2 * mebibyte;

/**
 * Appends the footer to a raw disk of whole MiB, which is then a fixed VHD. Called again with the same
 * identity it changes nothing; on a file that has another footer already it throws `vhd-invalid`.
 */
export async function appendVhdFooter(path: string, identity: VhdIdentity): Promise<void> {
  const file = await open(path, 'r+');
  try {
    const { size } = await file.stat();
    if (size > vhdSector && (size - vhdSector) % mebibyte === 0) {
      const present = await readFully(file, size - vhdSector, Buffer.alloc(vhdSector));
      if (present.equals(encodeVhdFooter('fixed', size - vhdSector, identity))) return;
      if (isVhdFooter(present)) throw vhdInvalid('the file has a VHD footer already, and it is another one');
    }
    if (size === 0 || size % mebibyte !== 0) {
      throw vhdInvalid(`a fixed VHD needs a disk of whole MiB; this one has ${size} bytes`);
    }
    await writeFully(file, size, encodeVhdFooter('fixed', size, identity));
    await file.sync();
  } finally {
    await file.close();
  }
}

export interface DynamicVhdInput {
  readonly disk: ByteSource;
  /** What may hold data, in order; the rest is taken as zero without looking. */
  readonly extents: Iterable<Extent> | AsyncIterable<Extent>;
  readonly identity: VhdIdentity;
  readonly signal?: AbortSignal | undefined;
  readonly onBytes?: ((bytes: number) => void) | undefined;
}

/** Writes a dynamic VHD with blocks of 2 MiB to an empty file. The same input gives the same bytes. */
export async function writeDynamicVhd(file: FileHandle, input: DynamicVhdInput): Promise<void> {
  const { size } = input.disk;
  if (size > vhdMaxDynamicSize) throw vhdInvalid('a dynamic VHD holds at most 2040 GiB');
  const footer = encodeVhdFooter('dynamic', size, input.identity);
  const tableEntries = Math.ceil(size / blockSize);
  const table = Buffer.alloc(Math.ceil((tableEntries * 4) / vhdSector) * vhdSector, 0xff);
  const tableOffset = vhdSector + 1024;
  const bitmap = Buffer.alloc(vhdSector, 0xff);
  let end = tableOffset + table.length;
  let next = 0;

  for await (const extent of input.extents) {
    const last = Math.floor((extent.offset + extent.length - 1) / blockSize);
    for (let block = Math.max(next, Math.floor(extent.offset / blockSize)); block <= last; block++) {
      throwIfAborted(input.signal);
      next = block + 1;
      const content = await readBlock(input.disk, block);
      if (isZero(content)) continue;
      await writeFully(file, end, Buffer.concat([bitmap, content]));
      table.writeUInt32BE(end / vhdSector, block * 4);
      end += bitmap.length + blockSize;
      input.onBytes?.(content.length);
    }
  }
  await writeFully(file, 0, footer);
  await writeFully(file, vhdSector, encodeVhdHeader({ tableOffset, tableEntries, blockSize }));
  await writeFully(file, tableOffset, table);
  await writeFully(file, end, footer);
}

async function readBlock(disk: ByteSource, block: number): Promise<Buffer> {
  const start = block * blockSize;
  const length = Math.min(blockSize, disk.size - start);
  if (length === blockSize) return readBytes(disk, start, blockSize);
  const content = Buffer.alloc(blockSize);
  await disk.read(start, content.subarray(0, length));
  return content;
}
