// Reads VHD disks, fixed and dynamic, strictly: every offset is checked against the file before it is
// followed, so that a damaged or hostile file is refused and never makes Imago read or allocate wildly.
import { type ByteSource, partOf, readBytes } from '../bytes/byte-source.ts';
import { type Extent, joinExtents } from '../bytes/extent.ts';
import {
  decodeVhdFooter,
  decodeVhdHeader,
  type VhdFooter,
  type VhdHeader,
  vhdInvalid,
  vhdSector,
} from './footer.ts';

export interface VhdDisk {
  readonly footer: VhdFooter;
  /** The disk that the file holds: without footer, and with holes as zeros. */
  readonly disk: ByteSource;
  /**
   * The parts of the disk that the file has bytes for, in order; the rest is zero. One extent for a
   * fixed disk: holes of the file itself are known to `dataExtents` of raw-extents.ts.
   */
  extents(): AsyncGenerator<Extent>;
}

const unused = 0xffff_ffff;

/** Reads footer, header and table. Throws `vhd-invalid` when any part is damaged or contradicts another. */
export async function openVhd(file: ByteSource): Promise<VhdDisk> {
  if (file.size < 2 * vhdSector) throw vhdInvalid('the file is too short to be a VHD');
  const footerBytes = await readBytes(file, file.size - vhdSector, vhdSector);
  const footer = decodeVhdFooter(footerBytes);
  if (footer.kind === 'fixed') return openFixed(file, footer);
  const copy = await readBytes(file, 0, vhdSector);
  if (!copy.equals(footerBytes)) throw vhdInvalid('the footer of the VHD differs from its copy at the start');
  return openDynamic(file, footer);
}

function openFixed(file: ByteSource, footer: VhdFooter): VhdDisk {
  if (file.size !== footer.size + vhdSector) {
    throw vhdInvalid(`the fixed VHD says ${footer.size} bytes, but its file holds ${file.size - vhdSector}`);
  }
  return {
    footer,
    disk: partOf(file, 0, footer.size),
    async *extents() {
      yield { offset: 0, length: footer.size };
    },
  };
}

async function openDynamic(file: ByteSource, footer: VhdFooter): Promise<VhdDisk> {
  const dataEnd = file.size - vhdSector;
  const headerOffset = footer.headerOffset ?? 0;
  if (headerOffset < vhdSector || headerOffset + 1024 > dataEnd) {
    throw vhdInvalid('the dynamic disk header lies outside of the file');
  }
  const header = decodeVhdHeader(await readBytes(file, headerOffset, 1024));
  const blocks = Math.ceil(footer.size / header.blockSize);
  if (header.tableEntries < blocks) {
    throw vhdInvalid(`the block table has ${header.tableEntries} entries, but the disk has ${blocks} blocks`);
  }
  if (header.tableOffset < vhdSector || header.tableOffset + blocks * 4 > dataEnd) {
    throw vhdInvalid('the block table lies outside of the file');
  }
  const table = await readBytes(file, header.tableOffset, blocks * 4);
  const used = [
    { offset: 0, length: vhdSector },
    { offset: headerOffset, length: 1024 },
    { offset: header.tableOffset, length: blocks * 4 },
  ];
  checkBlocks(table, header, used, dataEnd);
  return dynamicDisk(file, footer, header, table);
}

function bitmapLength(blockSize: number): number {
  return Math.ceil(blockSize / vhdSector / 8 / vhdSector) * vhdSector;
}

function checkBlocks(table: Buffer, header: VhdHeader, used: readonly Extent[], dataEnd: number): void {
  const length = bitmapLength(header.blockSize) + header.blockSize;
  const parts = [...used];
  for (let at = 0; at < table.length; at += 4) {
    const sector = table.readUInt32BE(at);
    if (sector === unused) continue;
    if (sector * vhdSector + length > dataEnd) throw vhdInvalid(`block ${at / 4} lies outside of the file`);
    parts.push({ offset: sector * vhdSector, length });
  }
  parts.sort((a, b) => a.offset - b.offset);
  let end = 0;
  for (const part of parts) {
    if (part.offset < end) throw vhdInvalid(`two parts of the VHD overlap at byte ${part.offset}`);
    end = part.offset + part.length;
  }
}

function dynamicDisk(file: ByteSource, footer: VhdFooter, header: VhdHeader, table: Buffer): VhdDisk {
  const { blockSize } = header;
  const bitmapSize = bitmapLength(blockSize);

  function place(block: number): number | undefined {
    const sector = table.readUInt32BE(block * 4);
    return sector === unused ? undefined : sector * vhdSector;
  }

  async function readInBlock(block: number, within: number, target: Buffer): Promise<void> {
    const at = place(block);
    if (at === undefined) {
      target.fill(0);
      return;
    }
    const bitmap = await readBytes(file, at, bitmapSize);
    await file.read(at + bitmapSize + within, target);
    for (let done = 0; done < target.length; ) {
      const sector = Math.floor((within + done) / vhdSector);
      const end = Math.min(target.length, (sector + 1) * vhdSector - within);
      if (!isSet(bitmap, sector)) target.fill(0, done, end);
      done = end;
    }
  }

  return {
    footer,
    disk: {
      size: footer.size,
      async read(position, target) {
        for (let done = 0; done < target.length; ) {
          const block = Math.floor((position + done) / blockSize);
          const within = (position + done) % blockSize;
          const length = Math.min(target.length - done, blockSize - within);
          await readInBlock(block, within, target.subarray(done, done + length));
          done += length;
        }
        return target;
      },
    },
    async *extents() {
      let open: Extent | undefined;
      for (let block = 0; block * blockSize < footer.size; block++) {
        const at = place(block);
        if (at === undefined) continue;
        const bitmap = await readBytes(file, at, bitmapSize);
        const start = block * blockSize;
        const sectors = Math.min(blockSize, footer.size - start) / vhdSector;
        const found = [
          ...joinExtents([...(open === undefined ? [] : [open]), ...runs(bitmap, start, sectors)]),
        ];
        open = found.pop();
        yield* found;
      }
      if (open !== undefined) yield open;
    },
  };
}

function isSet(bitmap: Buffer, sector: number): boolean {
  return (bitmap.readUInt8(sector >> 3) & (0x80 >> (sector & 7))) !== 0;
}

function* runs(bitmap: Buffer, start: number, sectors: number): Generator<Extent> {
  let from = 0;
  while (from < sectors) {
    if (!isSet(bitmap, from)) {
      from++;
      continue;
    }
    let to = from;
    while (to < sectors && isSet(bitmap, to)) to++;
    yield { offset: start + from * vhdSector, length: (to - from) * vhdSector };
    from = to;
  }
}
