import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { noise } from '../../images/store/testing.ts';
import { packFile, unpackFile } from './frame-file.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-frames-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const [source, packed, target] = ['source', 'packed', 'target'];

describe('a file in frames', () => {
  test.each([0, 1, 4 * 1024 * 1024, 21 * 1024 * 1024 + 17])(
    'of %i bytes comes out as it went in',
    async (size) => {
      const bytes = noise('frames', size).fill('text', 0, Math.floor(size / 2));
      await writeFile(join(folder, source), bytes);
      const list = await packFile(join(folder, source), join(folder, packed));
      expect(list.sizeBytes).toBe(size);
      expect(await unpackFile(join(folder, packed), join(folder, target), list)).toBe(true);
      expect((await readFile(join(folder, target))).equals(bytes)).toBe(true);
    },
  );

  test('with a flipped bit, or without its end, is told from a whole one', async () => {
    await writeFile(join(folder, source), noise('damaged', 9 * 1024 * 1024));
    const list = await packFile(join(folder, source), join(folder, packed));
    const whole = await readFile(join(folder, packed));
    const flipped = Buffer.from(whole);
    flipped[6_000_000] = (flipped[6_000_000] ?? 0) ^ 1;
    for (const bad of [flipped, whole.subarray(0, -1)]) {
      await writeFile(join(folder, packed), bad);
      expect(await unpackFile(join(folder, packed), join(folder, target), list)).toBe(false);
    }
  });
});
