import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { diskOf, noise } from '../../../test/support/test-disks.ts';
import { blockSize, maxChunkSize, minChunkBlocks, nextChunk } from './chunker.ts';

const anyPart = fc.record({
  kind: fc.constantFrom('noise', 'text', 'zero'),
  seed: fc.nat({ max: 50 }),
  blocks: fc.integer({ min: 1, max: 90 }),
} as const);

function chunksOf(disk: Buffer): { offset: number; length: number }[] {
  const chunks: { offset: number; length: number }[] = [];
  let at = 0;
  while (at < disk.length) {
    const cut = nextChunk(disk, at, disk.length, true);
    if (cut.length === undefined) throw new Error('the last bytes must be enough');
    if (cut.length > 0) chunks.push({ offset: at + cut.hole, length: cut.length });
    at += cut.hole + cut.length;
    expect(cut.hole + cut.length).toBeGreaterThan(0);
  }
  return chunks;
}

function contentsOf(disk: Buffer): Set<string> {
  return new Set(
    chunksOf(disk).map(({ offset, length }) => disk.toString('latin1', offset, offset + length)),
  );
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

describe('cutting a disk into chunks', () => {
  test('chunks and holes cover the disk, and every byte in a hole is zero', () => {
    fc.assert(
      fc.property(fc.array(anyPart, { maxLength: 6 }), fc.nat({ max: 5000 }), (parts, tail) => {
        const disk = diskOf(parts, tail);
        let end = 0;
        for (const { offset, length } of chunksOf(disk)) {
          expect(isZero(disk.subarray(end, offset))).toBe(true);
          expect(length).toBeLessThanOrEqual(maxChunkSize);
          end = offset + length;
        }
        expect(isZero(disk.subarray(end))).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  test('a chunk neither begins nor ends with a block of zeros', () => {
    fc.assert(
      fc.property(fc.array(anyPart, { maxLength: 6 }), (parts) => {
        const disk = diskOf(parts);
        for (const { offset, length } of chunksOf(disk)) {
          expect(isZero(disk.subarray(offset, offset + blockSize))).toBe(false);
          expect(isZero(disk.subarray(offset + length - blockSize, offset + length))).toBe(false);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('what was cut does not depend on how much of the disk was seen in one call', () => {
    const disk = diskOf([
      { kind: 'text', seed: 1, blocks: 200 },
      { kind: 'zero', seed: 0, blocks: 3 },
      { kind: 'noise', seed: 2, blocks: 150 },
    ]);
    let at = 0;
    for (const { offset, length } of chunksOf(disk)) {
      const end = Math.min(disk.length, offset + length + 4 * blockSize);
      const cut = nextChunk(disk, at, end, end === disk.length);
      expect(cut).toEqual({ hole: offset - at, length });
      at = offset + length;
    }
  });

  test('asks for more when the chunk may go on', () => {
    const disk = noise('short', 4 * blockSize);
    expect(nextChunk(disk, 0, disk.length, false)).toEqual({ hole: 0, length: undefined });
    expect(nextChunk(disk, 0, disk.length, true)).toEqual({ hole: 0, length: disk.length });
  });

  test('content that moved by whole blocks is found again, but for the edges', () => {
    const before = noise('before', 3_000_000 - (3_000_000 % blockSize));
    const after = noise('after', 8_192_000);
    const known = contentsOf(Buffer.concat([before, after]));
    const moved = Buffer.concat([before, noise('inserted', 37 * blockSize), after]);
    const fresh = [...contentsOf(moved)].filter((chunk) => !known.has(chunk));
    const freshBytes = fresh.reduce((sum, chunk) => sum + chunk.length, 0);
    expect(freshBytes).toBeLessThan(37 * blockSize + 4 * maxChunkSize);
  });

  test('zeros before a chunk that can continue are reported', () => {
    const disk = Buffer.concat([Buffer.alloc(5 * blockSize), noise('short', 4 * blockSize)]);
    expect(nextChunk(disk, 0, disk.length, false)).toEqual({ hole: 5 * blockSize, length: undefined });
  });

  test('a single block, shorter than the smallest chunk, is a chunk', () => {
    const disk = diskOf([
      { kind: 'zero', seed: 0, blocks: 9 },
      { kind: 'noise', seed: 3, blocks: 1 },
      { kind: 'zero', seed: 0, blocks: 9 },
    ]);
    expect(chunksOf(disk)).toEqual([{ offset: 9 * blockSize, length: blockSize }]);
    expect(minChunkBlocks).toBeGreaterThan(1);
  });

  test('zeros alone give no chunk', () => {
    expect(chunksOf(Buffer.alloc(100 * blockSize + 77))).toEqual([]);
  });
});
