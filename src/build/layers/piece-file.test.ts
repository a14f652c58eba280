import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { noise } from '../../../test/support/test-disks.ts';
import { namePieces } from './piece-file.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-pieces-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function nameOf(bytes: Uint8Array) {
  const path = join(folder, 'file');
  await writeFile(path, bytes);
  return namePieces(path);
}

describe('the name of a file', () => {
  test.each([0, 1, 4 * 1024 * 1024, 21 * 1024 * 1024 + 17])(
    'of %i bytes is always the same',
    async (size) => {
      const bytes = noise('pieces', size);
      const name = await nameOf(bytes);
      expect(name).toMatchObject({ sizeBytes: size, sha256: expect.stringMatching(/^[0-9a-f]{64}$/) });
      expect(await nameOf(Buffer.from(bytes))).toEqual(name);
    },
  );

  test('is another one with a flipped bit, without the end, or with pieces in another order', async () => {
    const whole = noise('damaged', 9 * 1024 * 1024);
    const flipped = Buffer.from(whole);
    flipped[6_000_000] = (flipped[6_000_000] ?? 0) ^ 1;
    const half = 4 * 1024 * 1024;
    const turned = Buffer.concat([
      whole.subarray(half, 2 * half),
      whole.subarray(0, half),
      whole.subarray(2 * half),
    ]);
    const all = [whole, flipped, whole.subarray(0, -1), turned];
    const names = [];
    for (const bytes of all) names.push((await nameOf(bytes)).sha256);
    expect(new Set(names).size).toBe(all.length);
  });

  test('stops when it is cancelled', async () => {
    await writeFile(join(folder, 'file'), 'text');
    await expect(namePieces(join(folder, 'file'), AbortSignal.abort())).rejects.toThrow();
  });
});
