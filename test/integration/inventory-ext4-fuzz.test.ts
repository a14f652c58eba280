// Damaged file systems: any flipped bytes read consistently or are refused; nothing hangs or grows.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openExt4 } from '../../src/disk/ext4/reader.ts';
import { ImagoError } from '../../src/domain/error/imago-error.ts';
import { fetchTools } from '../../src/host/tools/fetch-tools.ts';
import { readRootInventory } from '../../src/inventory/read-inventory.ts';
import { bufferSource } from '../support/buffer-source.ts';
import { makeExt4Image, variedItems } from '../support/ext4-image.ts';

let folder: string;

beforeAll(async () => {
  await fetchTools({ group: 'disk' });
  folder = await mkdtemp(join(tmpdir(), 'imago-fuzz-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Makes the inventory and reads everything that is small; the number of entries, or the error's code. */
async function readAll(bytes: Buffer): Promise<number | string> {
  let count = 0;
  try {
    const reader = await openExt4(bufferSource(bytes), { allowUnclean: true });
    await readRootInventory(reader, { diskBytes: bytes.length });
    for await (const entry of reader.walk({ maxEntries: 10_000 })) {
      count += 1;
      if (entry.type === 'file' && entry.size < 4_000_000) await reader.read(entry, 4_000_000);
    }
    return count;
  } catch (error) {
    if (error instanceof ImagoError) return error.code;
    throw error;
  }
}

const codes = ['ext4-invalid', 'input-invalid', 'inventory-invalid'];

for (const features of ['metadata_csum,64bit', 'inline_data', '']) {
  describe(`with the features ${features === '' ? 'of old' : features}`, () => {
    it('a change anywhere is read or refused', async () => {
      const path = await makeExt4Image(folder, 'fs', variedItems(40), {
        features,
        megabytes: 12,
        blockSize: 1024,
      });
      const bytes = await readFile(path);
      const whole = await readAll(bytes);
      expect(whole).toBeGreaterThan(60);
      const blocks = Array.from({ length: bytes.length / 1024 }, (_, index) => index).filter((index) =>
        bytes.subarray(index * 1024, (index + 1) * 1024).some((byte) => byte !== 0),
      );
      const change = fc.record({
        block: fc.constantFrom(...blocks),
        within: fc.oneof(fc.nat(64), fc.nat(1023)),
        value: fc.oneof(fc.constantFrom(0, 1, 0x7f, 0x80, 0xff), fc.nat(255)),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 4 }), async (changes) => {
          const undo = changes.map(({ block, within }) => [block * 1024 + within, 0] as [number, number]);
          for (const place of undo) place[1] = bytes.readUInt8(place[0]);
          for (const { block, within, value } of changes) bytes.writeUInt8(value, block * 1024 + within);
          try {
            const found = await readAll(bytes);
            if (typeof found === 'string') expect(codes).toContain(found);
            else expect(await readAll(bytes)).toBe(found);
          } finally {
            for (const [place, value] of undo) bytes.writeUInt8(value, place);
          }
        }),
        { numRuns: 80 },
      );
      expect(await readAll(bytes)).toBe(whole);
    });

    it('a file system that ends early is refused', async () => {
      const path = await makeExt4Image(folder, 'fs', variedItems(3), {
        features,
        megabytes: 12,
        blockSize: 1024,
      });
      const bytes = await readFile(path);
      for (const size of [0, 1, 1024, 2000, 2048, 5000, 1_000_000]) {
        expect(await readAll(bytes.subarray(0, size))).toBe('ext4-invalid');
      }
    });
  });
}
