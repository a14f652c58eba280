import fc from 'fast-check';
import { expect, it } from 'vitest';
import { bufferSource } from '../../../test/support/buffer-source.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { layOutDisk } from '../assemble/layout.ts';
import { layOutFat } from '../fat/layout.ts';
import { readFatFile } from '../fat/reader.ts';
import { encodeGpt } from '../gpt/table.ts';
import { readBootParts } from './boot-parts.ts';

const size = 128 * 1024 * 1024;
const layout = layOutDisk(size, 'test');

function espPieces(content: Uint8Array) {
  return layOutFat({
    size: layout.esp.size,
    firstSector: 2048,
    volumeId: 1,
    label: 'ESP',
    epoch: 0,
    files: [
      { path: 'OTHER/FILE.TXT', content: Buffer.from('other') },
      { path: 'EFI/BOOT/BOOTX64.EFI', content },
    ],
  });
}

function esp(content: Uint8Array): Buffer {
  const bytes = Buffer.alloc(layout.esp.size);
  for (const piece of espPieces(content)) bytes.set(piece.bytes, piece.offset);
  return bytes;
}

it('a file is read back from a FAT, and one that is not there is undefined', async () => {
  const content = Buffer.alloc(100_000, 'program ');
  const source = bufferSource(esp(content));
  expect((await readFatFile(source, 'EFI/BOOT/BOOTX64.EFI', 1_000_000))?.equals(content)).toBe(true);
  expect((await readFatFile(source, 'other/file.txt', 100))?.toString()).toBe('other');
  expect(await readFatFile(source, 'EFI/BOOT/MISSING', 100)).toBeUndefined();
  expect(await readFatFile(source, 'OTHER/FILE.TXT/X', 100)).toBeUndefined();
  await expect(readFatFile(source, 'EFI/BOOT/BOOTX64.EFI', 10)).rejects.toMatchObject({
    code: 'boot-files-invalid',
  });
});

it('a damaged FAT is refused or read within its bounds, and never indefinitely', async () => {
  const original = esp(Buffer.alloc(3000, 'x'));
  const places = espPieces(Buffer.alloc(3000, 'x')).flatMap(({ offset, bytes }) =>
    Array.from({ length: Math.min(bytes.length, 400) }, (_, at) => offset + at),
  );
  const change = fc.array(fc.tuple(fc.nat(places.length - 1), fc.integer({ min: 0, max: 255 })), {
    minLength: 1,
    maxLength: 6,
  });
  await fc.assert(
    fc.asyncProperty(change, async (bytes) => {
      const undo = bytes.map(([at]) => [places[at] ?? 0, original.readUInt8(places[at] ?? 0)] as const);
      for (const [at, value] of bytes) original.writeUInt8(value, places[at] ?? 0);
      try {
        const found = await readFatFile(bufferSource(original), 'EFI/BOOT/BOOTX64.EFI', 1_000_000);
        expect(found?.length ?? 0).toBeLessThanOrEqual(1_000_000);
      } catch (error) {
        expect(error).toBeInstanceOf(ImagoError);
      } finally {
        for (const [at, value] of undo.toReversed()) original.writeUInt8(value, at);
      }
    }),
    { numRuns: 150 },
  );
});

it('a disk without a kernel image has no boot parts', async () => {
  const disk = Buffer.alloc(size);
  const table = encodeGpt(size, layout.diskGuid, layout.partitions);
  disk.set(table.primary, 0);
  disk.set(table.backup, table.backupOffset);
  const files = layOutFat({
    size: layout.esp.size,
    firstSector: 2048,
    volumeId: 1,
    label: 'ESP',
    epoch: 0,
    files: [],
  });
  for (const piece of files) disk.set(piece.bytes, layout.esp.offset + piece.offset);
  expect(await readBootParts(bufferSource(disk))).toBeUndefined();
});
