// The names of bytes: those who trust them skip reading, so one name must never mean two contents.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { diskOf, forgeVersion, noise, testStore } from '../../../test/support/test-disks.ts';
import { partOf } from '../../disk/bytes/byte-source.ts';
import { blockSize } from '../chunks/chunker.ts';
import { openDisk } from './open-disk.ts';
import { putDisk } from './put-disk.ts';

const part = fc.record({
  kind: fc.constantFrom('noise', 'text', 'zero'),
  seed: fc.nat({ max: 4 }),
  blocks: fc.integer({ min: 1, max: 120 }),
} as const);

describe('names of bytes on stored disks', () => {
  test('the same name is the same bytes, on one disk and on two', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(part, { minLength: 1, maxLength: 5 }),
        fc.array(part, { minLength: 1, maxLength: 5 }),
        async (one, two) => {
          await using made = await testStore();
          const contents = new Map<string, string>();
          for (const disk of [diskOf(one), diskOf([...two, ...one])]) {
            const { digest } = await putDisk(made.store, await made.disk('disk', disk));
            const reader = await openDisk(made.store, digest);
            for (let at = 0; at < disk.length; at += 3 * blockSize) {
              const length = Math.min(3 * blockSize - 5, disk.length - at);
              const name = `${length} ${reader.identify(at, length).toString('hex')}`;
              const content = disk.toString('latin1', at, at + length);
              expect(contents.get(name) ?? content).toBe(content);
              contents.set(name, content);
            }
            await reader.close();
          }
        },
      ),
      { numRuns: 12 },
    );
  });

  test('what moved by whole blocks keeps its name, also behind a window', async () => {
    await using made = await testStore();
    const kept = noise('kept', 300 * blockSize);
    const moved = 7 * blockSize;
    const before = await putDisk(made.store, await made.disk('before', kept));
    const after = await putDisk(
      made.store,
      await made.disk('after', Buffer.concat([noise('new', moved), kept])),
    );
    const [old, young] = [
      await openDisk(made.store, before.digest),
      await openDisk(made.store, after.digest),
    ];
    const from = 200 * blockSize;
    const name = old.identify(from, 50 * blockSize);
    expect(young.identify(from + moved, 50 * blockSize)).toEqual(name);
    expect(partOf(young, moved, kept.length).identify?.(from, 50 * blockSize)).toEqual(name);
    expect(old.identify(from + blockSize, 50 * blockSize)).not.toEqual(name);
    await old.close();
    await young.close();
  });

  test('a pack that claims to hold other bytes than it does does not get their name', async () => {
    await using made = await testStore();
    const good = noise('good', 20 * blockSize);
    const forged = await openDisk(
      made.store,
      await forgeVersion(made.store, good, noise('bad', 20 * blockSize)),
    );
    const real = await putDisk(made.store, await made.disk('good', good));
    const reader = await openDisk(made.store, real.digest);
    expect(forged.identify(0, good.length)).not.toEqual(reader.identify(0, good.length));
    await reader.close();
    await forged.close();
  });
});
