import { open, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { diskOf, forgeVersion, noise, type TestStore, testStore } from '../../../test/support/test-disks.ts';
import { bytesOfFrame, readDiskMap } from '../chunks/disk-map.ts';
import { readDiskManifest } from '../layout/context.ts';
import type { Digest } from '../layout/digest.ts';
import { mediaTypes } from '../layout/media-types.ts';
import type { DiskStore } from './disk-store.ts';

const parts = [
  { kind: 'text', seed: 1, blocks: 80 },
  { kind: 'noise', seed: 2, blocks: 120 },
  { kind: 'zero', seed: 0, blocks: 20 },
  { kind: 'text', seed: 3, blocks: 60 },
] as const;
const disk = diskOf(parts);

async function flipBit(path: string, position: number, bit: number): Promise<void> {
  const handle = await open(path, 'r+');
  try {
    const byte = Buffer.alloc(1);
    await handle.read(byte, 0, 1, position);
    byte[0] = (byte[0] ?? 0) ^ (1 << bit);
    await handle.write(byte, 0, 1, position);
  } finally {
    await handle.close();
  }
}

async function putDisk(made: TestStore): Promise<{ digest: Digest; path: string }> {
  const path = await made.disk('disk', disk);
  const { digest } = await made.store.put(path);
  await made.store.attach(digest, {
    artifactType: 'application/vnd.cyclonedx+json',
    parts: [{ mediaType: 'application/vnd.cyclonedx+json', bytes: Buffer.from('{"bom":1}') }],
  });
  return { digest, path };
}

/** Every blob of a version, the attached ones too. */
async function blobsOf(store: DiskStore): Promise<Digest[]> {
  return (await store.context.blobs.list()).map((blob) => blob.digest).sort();
}

async function packOf(store: DiskStore, digest: Digest): Promise<Digest> {
  const manifest = await readDiskManifest(store.context, digest);
  const pack = manifest.layers.find((layer) => layer.mediaType === mediaTypes.diskPack);
  if (pack === undefined) throw new Error('the disk has a pack');
  return pack.digest;
}

describe('verifying a version', () => {
  test('a flipped bit anywhere is found, and its blob named', async () => {
    await using made = await testStore();
    const { digest } = await putDisk(made);
    const blobs = await blobsOf(made.store);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...blobs),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.nat(7),
        async (blob, place, bit) => {
          const path = made.store.context.blobs.path(blob);
          const position = Math.floor(place * (await stat(path)).size);
          await flipBit(path, position, bit);
          const { damages } = await made.store.verify(digest);
          expect(damages.map((damage) => damage.blob)).toEqual([blob]);
          await flipBit(path, position, bit);
        },
      ),
      { numRuns: 40 },
    );
    expect((await made.store.verify(digest)).damages).toEqual([]);
  });

  test('in a pack the chunk is named, with its place in the pack and on the disk', async () => {
    await using made = await testStore();
    const { digest } = await putDisk(made);
    const map = await readDiskMap(made.store.context, digest);
    const pack = map.packs[0];
    const run = map.runs[0];
    if (pack === undefined || run === undefined) throw new Error('the disk has a pack');
    const position = (pack.frameStarts[1] ?? 0) + 5;
    const first = pack.frameChunks[1] ?? 0;
    await flipBit(made.store.context.blobs.path(pack.digest), position, 3);
    const { damages } = await made.store.verify(digest);
    expect(damages).toMatchObject([
      {
        role: 'pack',
        blob: pack.digest,
        chunks: expect.arrayContaining([
          expect.objectContaining({
            number: first,
            packOffset: pack.frameStarts[1],
            diskOffsets: [bytesOfFrame(pack, 0)],
          }),
        ]),
      },
    ]);
    expect(damages[0]?.message).toContain(`chunk ${first} `);
    const out = join(made.folder, 'out');
    await expect(made.store.extract(digest, out)).rejects.toMatchObject({
      code: 'store-corrupt',
      details: { blob: pack.digest, firstChunk: first },
    });
    const reader = await made.store.open(digest);
    await expect(reader.read(0, Buffer.alloc(disk.length))).rejects.toMatchObject({ code: 'store-corrupt' });
    await reader.close();
  });

  test('a blob that is missing, cut short or longer is named', async () => {
    await using made = await testStore();
    const { digest } = await putDisk(made);
    const pack = await packOf(made.store, digest);
    const path = made.store.context.blobs.path(pack);
    const whole = await readFile(path);
    await truncate(path, whole.length - 100);
    expect((await made.store.verify(digest)).damages).toMatchObject([{ blob: pack, kind: 'size' }]);
    await writeFile(path, Buffer.concat([whole, Buffer.from('x')]));
    expect((await made.store.verify(digest)).damages).toMatchObject([{ blob: pack, kind: 'size' }]);
    await rm(path);
    expect((await made.store.verify(digest)).damages).toMatchObject([{ blob: pack, kind: 'missing' }]);
  });
});

describe('a pack that is not what it says', () => {
  const claimed = noise('claimed', 10 * 4096);
  const actual = noise('actual', 10 * 4096);

  test('is found by verifying', async () => {
    await using made = await testStore();
    const digest = await forgeVersion(made.store, claimed, actual);
    expect((await made.store.verify(digest)).damages).toMatchObject([
      { role: 'pack', chunks: [{ number: 0 }] },
    ]);
  });

  test('is not built upon when another tool brought it, nor when nothing lists it', async () => {
    await using made = await testStore();
    const digest = await forgeVersion(made.store, claimed, actual);
    const path = await made.disk('disk', claimed);
    const listed = await made.store.put(path, { annotations: { round: '1' } });
    expect((await made.store.verify(listed.digest)).damages).toEqual([]);
    await made.store.collectGarbage({ roots: [], graceMs: 0 });
    await made.store.untag('forged');
    await made.store.context.index.change((entries) => entries.filter((entry) => entry.digest !== digest));
    const stray = await made.store.put(path, { annotations: { round: '2' } });
    expect((await made.store.verify(stray.digest)).damages).toEqual([]);
  });
});

describe('healing a version', () => {
  test('every kind of blob comes back from another store', async () => {
    await using made = await testStore();
    await using other = await testStore();
    const { digest } = await putDisk(made);
    await putDisk(other);
    for (const blob of await blobsOf(made.store)) {
      await flipBit(made.store.context.blobs.path(blob), 3, 1);
    }
    const { healed, left } = await made.store.heal(digest, { sources: [other.store.asSource()] });
    expect(left.damages).toEqual([]);
    expect(healed.length).toBe((await blobsOf(made.store)).length);
    expect(new Set(healed.map((damage) => damage.from))).toEqual(new Set([other.store.root]));
  });

  test('damaged chunks come back from the raw disk', async () => {
    await using made = await testStore();
    const { digest, path } = await putDisk(made);
    const pack = made.store.context.blobs.path(await packOf(made.store, digest));
    await flipBit(pack, 10, 1);
    await flipBit(pack, 300_000, 1);
    const { healed, left } = await made.store.heal(digest, { rawDisk: path });
    expect(healed.length).toBe(1);
    expect(left.damages).toEqual([]);
  });

  test.each([
    ['its table', (size: number) => size - 100],
    ['its trailer', (size: number) => size - 2],
  ])('a pack that lost %s comes back from the raw disk', async (_, position) => {
    await using made = await testStore();
    const { digest, path } = await putDisk(made);
    const pack = made.store.context.blobs.path(await packOf(made.store, digest));
    await flipBit(pack, position((await stat(pack)).size), 1);
    const { healed, left } = await made.store.heal(digest, { rawDisk: path });
    expect(healed.length).toBe(1);
    expect(left.damages).toEqual([]);
  });

  test('a pack that is gone comes back from the raw disk', async () => {
    await using made = await testStore();
    const { digest, path } = await putDisk(made);
    await rm(made.store.context.blobs.path(await packOf(made.store, digest)));
    const { left } = await made.store.heal(digest, { rawDisk: path });
    expect(left.damages).toEqual([]);
  });

  test('a source with wrong bytes, or another disk, heals nothing and harms nothing', async () => {
    await using made = await testStore();
    const { digest } = await putDisk(made);
    const pack = await packOf(made.store, digest);
    await flipBit(made.store.context.blobs.path(pack), 10, 1);
    const before = await readFile(made.store.context.blobs.path(pack));
    const liar = {
      name: 'liar',
      async read() {
        return (async function* () {
          yield Buffer.from('not what you wanted');
        })();
      },
    };
    const rawDisk = await made.disk('other', noise('other disk', disk.length));
    const { healed, left } = await made.store.heal(digest, { sources: [liar], rawDisk });
    expect(healed).toEqual([]);
    expect(left.damages).toMatchObject([{ blob: pack, role: 'pack', kind: 'content' }]);
    expect((await readFile(made.store.context.blobs.path(pack))).equals(before)).toBe(true);
  });

  test('what was wrong from the start is left, and healing ends', async () => {
    await using made = await testStore();
    await using other = await testStore();
    const contents = [noise('claimed', 40_960), noise('actual', 40_960)] as const;
    const digest = await forgeVersion(made.store, ...contents);
    await forgeVersion(other.store, ...contents);
    const { left } = await made.store.heal(digest, { sources: [other.store.asSource()] });
    expect(left.damages).toMatchObject([{ role: 'pack' }]);
  });

  test('putting the disk again does not believe a damaged blob of the same name', async () => {
    await using made = await testStore();
    const { digest, path } = await putDisk(made);
    await flipBit(made.store.context.blobs.path(digest), 10, 1);
    await expect(made.store.put(path)).resolves.toMatchObject({ digest });
    expect((await made.store.verify(digest)).damages).toEqual([]);
  });
});
