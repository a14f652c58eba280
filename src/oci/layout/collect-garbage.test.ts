import { readdir, rm, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { diskOf, type TestStore, testStore } from '../../../test/support/test-disks.ts';
import type { DiskStore } from '../disks/disk-store.ts';
import { openDisk } from '../disks/open-disk.ts';
import { putDisk } from '../disks/put-disk.ts';
import { verifyDisk } from '../disks/verify-disk.ts';
import { collectGarbage } from './collect-garbage.ts';
import { type Digest, digestOf } from './digest.ts';
import { attach } from './referrers.ts';

const grace = { graceMs: 0 };

async function putSeed(made: TestStore, ...seeds: number[]): Promise<Digest> {
  const disk = diskOf(seeds.map((seed) => ({ kind: 'noise', seed, blocks: 100 })));
  return (await putDisk(made.store, await made.disk(seeds.join('-'), disk))).digest;
}

async function totalBytes(store: DiskStore): Promise<number> {
  return (await store.blobs.list()).reduce((sum, blob) => sum + blob.size, 0);
}

describe('collecting garbage', () => {
  test('what is said to be reclaimable is exactly what goes, and a dry run writes nothing', async () => {
    await using made = await testStore();
    const kept = await putSeed(made, 1, 2);
    const gone = await putSeed(made, 3, 4);
    const before = await totalBytes(made.store);
    const plan = await collectGarbage(made.store, { roots: [kept], ...grace, dryRun: true });
    expect(await totalBytes(made.store)).toBe(before);
    expect(plan).toMatchObject({ dryRun: true, manifests: [gone] });
    const report = await collectGarbage(made.store, { roots: [kept], ...grace });
    expect({ ...report, dryRun: true }).toEqual(plan);
    expect(before - (await totalBytes(made.store))).toBe(plan.bytes);
    expect((await verifyDisk(made.store, kept)).damages).toEqual([]);
    expect((await made.store.list()).map((disk) => disk.digest)).toEqual([kept]);
  });

  test('packs that another version shares stay', async () => {
    await using made = await testStore();
    const one = await putSeed(made, 1, 2, 3);
    const two = await putSeed(made, 1, 2, 4);
    await collectGarbage(made.store, { roots: [two], ...grace });
    expect((await verifyDisk(made.store, two)).damages).toEqual([]);
    expect((await verifyDisk(made.store, one)).damages).toMatchObject([{ kind: 'missing' }]);
  });

  test('a tag keeps a version, and what is attached to it; attachments go with their version', async () => {
    await using made = await testStore();
    const tagged = await putSeed(made, 1);
    const other = await putSeed(made, 2);
    for (const digest of [tagged, other]) {
      const sbom = await attach(made.store, digest, {
        artifactType: 'application/spdx+json',
        parts: [{ mediaType: 'application/spdx+json', bytes: Buffer.from(digest) }],
      });
      await attach(made.store, sbom.digest, {
        artifactType: 'signature',
        parts: [{ mediaType: 'text/plain', bytes: Buffer.from(`signed ${digest}`) }],
        tag: `sha256-${sbom.digest.slice(7)}.sig`,
      });
    }
    await made.store.tag('stable', tagged);
    const report = await collectGarbage(made.store, { roots: [], ...grace });
    expect(report.manifests).toContain(other);
    expect((await verifyDisk(made.store, tagged)).damages).toEqual([]);
    expect((await made.store.referrers(tagged)).length).toBe(1);
    expect(await made.store.referrers(other)).toEqual([]);
    const left = await made.store.index.entries();
    expect(left.length).toBe(5);
    const again = await collectGarbage(made.store, { roots: [], ...grace });
    expect(again).toMatchObject({ bytes: 0, blobs: [], manifests: [] });
  });

  test('what is young stays for its grace, and is counted apart', async () => {
    await using made = await testStore();
    const digest = await putSeed(made, 1);
    const young = await collectGarbage(made.store, { roots: [] });
    expect(young.bytes).toBe(0);
    expect(young.keptBytes).toBe(await totalBytes(made.store));
    const later = await collectGarbage(made.store, { roots: [], now: () => Date.now() + 3_600_000 });
    expect(later.manifests).toEqual([digest]);
    expect(await totalBytes(made.store)).toBe(0);
  });

  test('what is held stays until it is released', async () => {
    await using made = await testStore();
    const hold = made.store.owner.hold();
    const disk = await made.disk('held', diskOf([{ kind: 'noise', seed: 1, blocks: 50 }]));
    const { digest } = await putDisk(made.store, disk, { hold });
    await collectGarbage(made.store, { roots: [], ...grace });
    expect((await verifyDisk(made.store, digest)).damages).toEqual([]);
    hold.release();
    await collectGarbage(made.store, { roots: [], ...grace });
    expect(await made.store.list()).toEqual([]);
  });

  test('a disk that is open can be read to its end', async () => {
    await using made = await testStore();
    const digest = await putSeed(made, 1, 2);
    const reader = await openDisk(made.store, digest);
    await collectGarbage(made.store, { roots: [], ...grace });
    await reader.read(0, Buffer.alloc(reader.size));
    await reader.close();
    expect((await collectGarbage(made.store, { roots: [], ...grace })).bytes).toBeGreaterThan(0);
  });

  test('collected repeatedly while disks are put, it never takes what a put relies on', async () => {
    await using made = await testStore();
    let running = true;
    const collecting = (async () => {
      while (running) await collectGarbage(made.store, { roots: [], ...grace });
    })();
    for (let round = 0; round < 6; round += 1) {
      const hold = made.store.owner.hold();
      const disk = diskOf([1, 2, round + 10, 3].map((seed) => ({ kind: 'noise', seed, blocks: 60 })));
      const { digest } = await putDisk(made.store, await made.disk(`disk-${round}`, disk), { hold });
      expect((await verifyDisk(made.store, digest)).damages).toEqual([]);
      hold.release();
    }
    running = false;
    await collecting;
  });

  test('a manifest that must stay but cannot be read stops it before anything is removed', async () => {
    await using made = await testStore();
    const kept = await putSeed(made, 1);
    await putSeed(made, 2);
    await writeFile(made.store.blobs.path(kept), 'damaged');
    const before = await readdir(made.store.paths.blobs);
    await expect(collectGarbage(made.store, { roots: [kept], ...grace })).rejects.toMatchObject({
      code: 'store-corrupt',
    });
    expect(await readdir(made.store.paths.blobs)).toEqual(before);
  });

  test('so does one that is listed and lost, because what it named may heal it', async () => {
    await using made = await testStore();
    const lost = await putSeed(made, 1);
    await rm(made.store.blobs.path(lost));
    const before = await totalBytes(made.store);
    const collecting = collectGarbage(made.store, { roots: [lost], ...grace });
    await expect(collecting).rejects.toMatchObject({ code: 'store-corrupt' });
    expect(await totalBytes(made.store)).toBe(before);
    await expect(collectGarbage(made.store, { roots: [], ...grace })).resolves.toMatchObject({
      bytes: before,
    });
  });

  test('a root that the store never had is ignored, and one that is not listed is kept whole', async () => {
    await using made = await testStore();
    const unlisted = await putSeed(made, 1);
    await made.store.index.change(() => []);
    const roots = [digestOf(Buffer.from('never here')), unlisted];
    expect(await collectGarbage(made.store, { roots, ...grace })).toMatchObject({ bytes: 0 });
    expect((await verifyDisk(made.store, unlisted)).damages).toEqual([]);
  });

  test('a store that lost its list refuses to guess', async () => {
    await using made = await testStore();
    await putSeed(made, 1);
    await rm(made.store.paths.indexFile);
    await expect(collectGarbage(made.store, { roots: [], ...grace })).rejects.toMatchObject({
      code: 'store-corrupt',
    });
  });
});
