import { createHash } from 'node:crypto';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { diskOf } from '../../../test/support/test-disks.ts';
import type { Extent } from '../../disk/bytes/extent.ts';
import { blockSize } from './chunker.ts';
import { hashDisk } from './disk-hash.ts';
import { DiskScan } from './disk-scan.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-scan-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function scanAll(path: string, size: number, extents: readonly Extent[] | undefined) {
  const fd = openSync(path, 'r');
  try {
    const scan = new DiskScan({ fd, size, extents });
    const chunks: string[] = [];
    for (;;) {
      const batch = scan.next();
      for (const [number, offset] of batch.offsets.entries()) {
        const hash = Buffer.from(batch.hashes.subarray(number * 32, number * 32 + 32)).toString('hex');
        chunks.push(`${offset} ${batch.lengths[number]} ${hash}`);
      }
      if (!batch.isLast) continue;
      const sha256 = hashDisk({ fd, size, extents });
      return { chunks, sha256, position: batch.position };
    }
  } finally {
    closeSync(fd);
  }
}

function extentsOf(disk: Buffer, slack: number): Extent[] {
  const extents: { offset: number; length: number }[] = [];
  for (let at = 0; at < disk.length; at += blockSize) {
    const end = Math.min(at + blockSize, disk.length);
    if (disk.subarray(at, end).every((byte) => byte === 0) && (at / blockSize) % 7 >= slack) continue;
    const last = extents.at(-1);
    if (last !== undefined && last.offset + last.length === at) last.length += end - at;
    else extents.push({ offset: at, length: end - at });
  }
  return extents;
}

const anyPart = fc.record({
  kind: fc.constantFrom('noise', 'text', 'zero'),
  seed: fc.nat({ max: 20 }),
  blocks: fc.oneof(fc.integer({ min: 1, max: 200 }), fc.integer({ min: 400, max: 620 })),
} as const);

describe('scanning a disk', () => {
  test('what is known of holes changes neither the chunks nor the sha256', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyPart, { maxLength: 5 }),
        fc.nat({ max: 4096 }),
        fc.nat({ max: 3 }),
        async (parts, tail, slack) => {
          const disk = diskOf(parts, tail);
          const path = join(folder, 'disk');
          await writeFile(path, disk);
          const unknown = scanAll(path, disk.length, undefined);
          expect(scanAll(path, disk.length, extentsOf(disk, slack))).toEqual(unknown);
          expect(unknown.sha256).toBe(createHash('sha256').update(disk).digest('hex'));
          expect(unknown.position).toBe(disk.length);
        },
      ),
      { numRuns: 25 },
    );
  });

  test('a disk larger than the window is cut as if it were seen whole', async () => {
    const disk = diskOf([
      { kind: 'noise', seed: 1, blocks: 1500 },
      { kind: 'zero', seed: 0, blocks: 300 },
      { kind: 'noise', seed: 2, blocks: 700 },
    ]);
    const path = join(folder, 'large');
    await writeFile(path, disk);
    const { chunks, sha256 } = scanAll(path, disk.length, undefined);
    expect(sha256).toBe(createHash('sha256').update(disk).digest('hex'));
    let end = 0;
    for (const chunk of chunks) {
      const [offset = 0, length = 0] = chunk.split(' ').map(Number);
      expect(offset).toBeGreaterThanOrEqual(end);
      end = offset + length;
    }
    expect(chunks.length).toBeGreaterThan(40);
  });

  test.each([0, 1, 480, 505, 510, 511, 512, 513, 1020, 1024])(
    'a chunk that begins %i blocks of zeros into the disk is found',
    async (zeros) => {
      const disk = diskOf([
        { kind: 'zero', seed: 0, blocks: zeros },
        { kind: 'noise', seed: 1, blocks: 100 },
        { kind: 'zero', seed: 0, blocks: 700 },
        { kind: 'noise', seed: 2, blocks: 3 },
      ]);
      const path = join(folder, 'zeros');
      await writeFile(path, disk);
      const { chunks, sha256 } = scanAll(path, disk.length, undefined);
      expect(Number(chunks[0]?.split(' ')[0])).toBe(zeros * blockSize);
      expect(Number(chunks.at(-1)?.split(' ')[0])).toBe((zeros + 800) * blockSize);
      expect(sha256).toBe(createHash('sha256').update(disk).digest('hex'));
    },
  );

  test('a disk that becomes shorter is noticed', async () => {
    const path = join(folder, 'shrinks');
    await writeFile(path, diskOf([{ kind: 'noise', seed: 1, blocks: 10 }]));
    await truncate(path, 5000);
    const changed = expect.objectContaining({ code: 'disk-changed' });
    expect(() => scanAll(path, 10 * blockSize, undefined)).toThrow(changed);
    const fd = openSync(path, 'r');
    expect(() => hashDisk({ fd, size: 10 * blockSize, extents: undefined })).toThrow(changed);
    closeSync(fd);
  });
});
