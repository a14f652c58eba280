import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { encodeDiskIndex, parseDiskIndex, RunCollector } from './disk-index.ts';

const pack = {
  digest: `sha256:${'a'.repeat(64)}`,
  size: 100_000,
  chunks: 10,
  frames: 2,
  table: 'b'.repeat(64),
} as const;

describe('the index of a disk', () => {
  test('reads back as it was written', () => {
    const runs = [
      { hole: 0, pack: 0, first: 0, count: 3 },
      { hole: 4096, pack: 0, first: 5, count: 5 },
    ];
    const index = { size: 1_000_000, packs: [pack], runs };
    expect(parseDiskIndex(encodeDiskIndex(index))).toEqual(index);
  });

  test.each([
    ['a run of a pack that is not there', { hole: 0, pack: 1, first: 0, count: 1 }],
    ['a run past the end of its pack', { hole: 0, pack: 0, first: 5, count: 6 }],
    ['an empty run', { hole: 0, pack: 0, first: 0, count: 0 }],
    ['a negative hole', { hole: -1, pack: 0, first: 0, count: 1 }],
  ])('%s: refused', (_, run) => {
    const bytes = encodeDiskIndex({ size: 1, packs: [pack], runs: [run] });
    expect(() => parseDiskIndex(bytes)).toThrow(expect.objectContaining({ code: 'store-corrupt' }));
  });

  test('any other bytes are refused, never believed', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.uint8Array(),
          fc.json().map((text) => Buffer.from(text)),
        ),
        (bytes) => {
          expect(() => parseDiskIndex(bytes)).toThrow(expect.objectContaining({ code: 'store-corrupt' }));
        },
      ),
    );
  });

  test('chunks that follow each other in pack and on disk are one run', () => {
    const runs = new RunCollector();
    runs.add(0, 100, 0, 4);
    runs.add(100, 50, 0, 5);
    runs.add(200, 50, 0, 6);
    runs.add(250, 50, 1, 7);
    expect(runs.runs).toEqual([
      { hole: 0, pack: 0, first: 4, count: 2, bytes: 150 },
      { hole: 50, pack: 0, first: 6, count: 1, bytes: 50 },
      { hole: 0, pack: 1, first: 7, count: 1, bytes: 50 },
    ]);
  });
});
