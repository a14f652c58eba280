import { open, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  diskOf,
  forgeVersion,
  noise,
  storeSource,
  type TestStore,
  testStore,
} from '../../../test/support/test-disks.ts';
import { readDiskMap } from '../chunks/disk-map.ts';
import { collectGarbage } from '../layout/collect-garbage.ts';
import { readDiskManifest } from '../layout/context.ts';
import type { Digest } from '../layout/digest.ts';
import { mediaTypes } from '../layout/media-types.ts';
import { attach } from '../layout/referrers.ts';
import type { DiskStore } from './disk-store.ts';
import { extractDisk } from './extract-disk.ts';
import { openDisk } from './open-disk.ts';
import { putDisk } from './put-disk.ts';
import { rawDiskSource, repairDisk } from './repair-disk.ts';
import { verifyDisk } from './verify-disk.ts';

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

async function putSample(made: TestStore): Promise<{ digest: Digest; path: string }> {
  const path = await made.disk('disk', disk);
  const { digest } = await putDisk(made.store, path);
  await attach(made.store, digest, {
    artifactType: 'application/vnd.cyclonedx+json',
    parts: [{ mediaType: 'application/vnd.cyclonedx+json', bytes: Buffer.from('{"bom":1}') }],
  });
  return { digest, path };
}

/** Every blob of a version, the attached ones too. */
async function blobsOf(store: DiskStore): Promise<Digest[]> {
  return (await store.blobs.list()).map((blob) => blob.digest).sort();
}

async function packOf(store: DiskStore, digest: Digest): Promise<Digest> {
  const manifest = await readDiskManifest(store, digest);
  const pack = manifest.layers.find((layer) => layer.mediaType === mediaTypes.diskPack);
  if (pack === undefined) throw new Error('the disk has a pack');
  return pack.digest;
}

describe('verifying a version', () => {
  test('a flipped bit anywhere is found, and its blob named', async () => {
    await using made = await testStore();
    const { digest } = await putSample(made);
    const blobs = await blobsOf(made.store);
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...blobs),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        fc.nat(7),
        async (blob, place, bit) => {
          const path = made.store.blobs.path(blob);
          const position = Math.floor(place * (await stat(path)).size);
          await flipBit(path, position, bit);
          const { damages } = await verifyDisk(made.store, digest);
          expect(damages.map((damage) => damage.blob)).toEqual([blob]);
          await flipBit(path, position, bit);
        },
      ),
      { numRuns: 40 },
    );
    expect((await verifyDisk(made.store, digest)).damages).toEqual([]);
  });

  test('reads of a damaged pack fail with its chunks, and verifying names the pack', async () => {
    await using made = await testStore();
    const { digest } = await putSample(made);
    const map = await readDiskMap(made.store, digest);
    const pack = map.packs[0];
    if (pack === undefined) throw new Error('the disk has a pack');
    await flipBit(made.store.blobs.path(pack.digest), (pack.frameStarts[1] ?? 0) + 5, 3);
    const { damages } = await verifyDisk(made.store, digest);
    expect(damages).toMatchObject([{ role: 'pack', blob: pack.digest, kind: 'content' }]);
    expect(damages[0]?.message).toContain(pack.digest);
    const out = join(made.folder, 'out');
    await expect(extractDisk(made.store, digest, out)).rejects.toMatchObject({
      code: 'store-corrupt',
      details: { blob: pack.digest, firstChunk: pack.frameChunks[1] ?? 0 },
    });
    const reader = await openDisk(made.store, digest);
    await expect(reader.read(0, Buffer.alloc(disk.length))).rejects.toMatchObject({ code: 'store-corrupt' });
    await reader.close();
  });

  test('a blob that is missing, truncated, or longer is named', async () => {
    await using made = await testStore();
    const { digest } = await putSample(made);
    const pack = await packOf(made.store, digest);
    const path = made.store.blobs.path(pack);
    const whole = await readFile(path);
    await truncate(path, whole.length - 100);
    expect((await verifyDisk(made.store, digest)).damages).toMatchObject([{ blob: pack, kind: 'content' }]);
    await writeFile(path, Buffer.concat([whole, Buffer.from('x')]));
    expect((await verifyDisk(made.store, digest)).damages).toMatchObject([{ blob: pack, kind: 'content' }]);
    await rm(path);
    expect((await verifyDisk(made.store, digest)).damages).toMatchObject([{ blob: pack, kind: 'missing' }]);
  });
});

describe('a pack that is not what it says', () => {
  const claimed = noise('claimed', 10 * 4096);
  const actual = noise('actual', 10 * 4096);

  test('is found by verifying', async () => {
    await using made = await testStore();
    const digest = await forgeVersion(made.store, claimed, actual);
    expect((await verifyDisk(made.store, digest)).damages).toMatchObject([{ role: 'disk', kind: 'content' }]);
  });

  test('is not built upon when another tool brought it, nor when nothing lists it', async () => {
    await using made = await testStore();
    const digest = await forgeVersion(made.store, claimed, actual);
    const path = await made.disk('disk', claimed);
    const listed = await putDisk(made.store, path, { annotations: { round: '1' } });
    expect((await verifyDisk(made.store, listed.digest)).damages).toEqual([]);
    await collectGarbage(made.store, { roots: [], graceMs: 0 });
    await made.store.index.untag('forged');
    await made.store.index.change((entries) => entries.filter((entry) => entry.digest !== digest));
    const stray = await putDisk(made.store, path, { annotations: { round: '2' } });
    expect((await verifyDisk(made.store, stray.digest)).damages).toEqual([]);
  });
});

describe('repairing a version', () => {
  test('every kind of blob comes back from another store', async () => {
    await using made = await testStore();
    await using other = await testStore();
    const { digest } = await putSample(made);
    await putSample(other);
    for (const blob of await blobsOf(made.store)) {
      await flipBit(made.store.blobs.path(blob), 3, 1);
    }
    const { repaired, left } = await repairDisk(made.store, digest, { sources: [storeSource(other.store)] });
    expect(left.damages).toEqual([]);
    expect(repaired.length).toBe((await blobsOf(made.store)).length);
    expect(new Set(repaired.map((damage) => damage.from))).toEqual(new Set([other.store.root]));
  });

  test('damaged chunks come back from the raw disk', async () => {
    await using made = await testStore();
    const { digest, path } = await putSample(made);
    const pack = made.store.blobs.path(await packOf(made.store, digest));
    await flipBit(pack, 10, 1);
    await flipBit(pack, 300_000, 1);
    const { repaired, left } = await repairDisk(made.store, digest, {
      sources: [rawDiskSource(made.store, digest, path, 'disk')],
    });
    expect(repaired.length).toBe(1);
    expect(left.damages).toEqual([]);
  });

  test.each([
    ['its table', (size: number) => size - 100],
    ['its trailer', (size: number) => size - 2],
  ])('a pack that lost %s comes back from the raw disk', async (_, position) => {
    await using made = await testStore();
    const { digest, path } = await putSample(made);
    const pack = made.store.blobs.path(await packOf(made.store, digest));
    await flipBit(pack, position((await stat(pack)).size), 1);
    const { repaired, left } = await repairDisk(made.store, digest, {
      sources: [rawDiskSource(made.store, digest, path, 'disk')],
    });
    expect(repaired.length).toBe(1);
    expect(left.damages).toEqual([]);
  });

  test('a pack that is gone comes back from the raw disk', async () => {
    await using made = await testStore();
    const { digest, path } = await putSample(made);
    await rm(made.store.blobs.path(await packOf(made.store, digest)));
    const { left } = await repairDisk(made.store, digest, {
      sources: [rawDiskSource(made.store, digest, path, 'disk')],
    });
    expect(left.damages).toEqual([]);
  });

  test('a source with wrong bytes, or another disk, repairs nothing and damages nothing', async () => {
    await using made = await testStore();
    const { digest } = await putSample(made);
    const pack = await packOf(made.store, digest);
    await flipBit(made.store.blobs.path(pack), 10, 1);
    const before = await readFile(made.store.blobs.path(pack));
    const liar = {
      name: 'liar',
      async read() {
        return (async function* () {
          yield Buffer.from('not what you wanted');
        })();
      },
    };
    const rawDisk = await made.disk('other', noise('other disk', disk.length));
    const { repaired, left } = await repairDisk(made.store, digest, {
      sources: [liar, rawDiskSource(made.store, digest, rawDisk, 'disk')],
    });
    expect(repaired).toEqual([]);
    expect(left.damages).toMatchObject([{ blob: pack, role: 'pack', kind: 'content' }]);
    expect((await readFile(made.store.blobs.path(pack))).equals(before)).toBe(true);
  });

  test('what was wrong from the start is left, and the repair ends', async () => {
    await using made = await testStore();
    await using other = await testStore();
    const contents = [noise('claimed', 40_960), noise('actual', 40_960)] as const;
    const digest = await forgeVersion(made.store, ...contents);
    await forgeVersion(other.store, ...contents);
    const { left } = await repairDisk(made.store, digest, { sources: [storeSource(other.store)] });
    expect(left.damages).toMatchObject([{ role: 'disk' }]);
  });

  test('putting the disk again does not believe a damaged blob of the same name', async () => {
    await using made = await testStore();
    const { digest, path } = await putSample(made);
    await flipBit(made.store.blobs.path(digest), 10, 1);
    await expect(putDisk(made.store, path)).resolves.toMatchObject({ digest });
    expect((await verifyDisk(made.store, digest)).damages).toEqual([]);
  });
});
