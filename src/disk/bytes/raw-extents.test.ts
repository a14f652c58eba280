import fc from 'fast-check';
import { expect, it } from 'vitest';
import { bufferSource } from '../../../test/support/buffer-source.ts';
import { scanZeros } from './raw-extents.ts';

const granule = 64 * 1024;

it('every byte that is not zero lies in an extent, and extents are sorted and apart', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.nat(3 * 1024 * 1024), { maxLength: 5 }),
      fc.integer({ min: 1, max: 3 * 1024 * 1024 }),
      async (places, size) => {
        const disk = Buffer.alloc(size);
        const marks = places.filter((place) => place < size);
        for (const place of marks) disk.writeUInt8(1, place);
        const extents = await scanZeros(bufferSource(disk));
        let end = -1;
        for (const { offset, length } of extents) {
          expect(offset).toBeGreaterThan(end);
          end = offset + length;
        }
        expect(end).toBeLessThanOrEqual(size);
        for (const mark of marks)
          expect(extents.some((e) => mark >= e.offset && mark < e.offset + e.length)).toBe(true);
        const total = extents.reduce((sum, { length }) => sum + length, 0);
        expect(total).toBeLessThanOrEqual(
          new Set(marks.map((mark) => Math.floor(mark / granule))).size * granule,
        );
      },
    ),
    { numRuns: 30 },
  );
});

it('the scan stops when cancelled', async () => {
  await expect(
    scanZeros(bufferSource(Buffer.alloc(granule)), granule, AbortSignal.abort()),
  ).rejects.toMatchObject({ code: 'cancelled' });
});
