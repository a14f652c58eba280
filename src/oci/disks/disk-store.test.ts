import { mkdir, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type DiskPart, diskOf, noise, testStore } from '../../../test/support/test-disks.ts';
import { blockSize } from '../chunks/chunker.ts';
import { readDiskIndex } from '../chunks/disk-index.ts';
import { readDiskManifest } from '../layout/context.ts';
import { digestOf } from '../layout/digest.ts';
import { attach } from '../layout/referrers.ts';
import { describeDisk, openDiskStore } from './disk-store.ts';
import { extractDisk } from './extract-disk.ts';
import { openDisk } from './open-disk.ts';
import { putDisk } from './put-disk.ts';
import { verifyDisk } from './verify-disk.ts';

const anyPart: fc.Arbitrary<DiskPart> = fc.record({
  kind: fc.constantFrom('noise', 'text', 'zero'),
  seed: fc.nat({ max: 30 }),
  blocks: fc.integer({ min: 1, max: 120 }),
});

interface Edit {
  readonly kind: 'insert' | 'remove' | 'overwrite';
  readonly at: number;
  readonly part: DiskPart;
}

const anyEdit: fc.Arbitrary<Edit> = fc.record({
  kind: fc.constantFrom('insert', 'remove', 'overwrite'),
  at: fc.nat({ max: 10 }),
  part: anyPart,
});

function edited(parts: readonly DiskPart[], edits: readonly Edit[]): DiskPart[] {
  const result = [...parts];
  for (const { kind, at, part } of edits) {
    const index = result.length === 0 ? 0 : at % result.length;
    if (kind === 'insert') result.splice(index, 0, part);
    if (kind === 'remove') result.splice(index, 1);
    if (kind === 'overwrite') result.splice(index, 1, part);
  }
  return result;
}

async function storedFiles(root: string): Promise<string[]> {
  return (await readdir(root, { recursive: true })).filter((name) => !name.includes('locks')).sort();
}

describe('a store of disks', () => {
  test('whatever was put, and however it was edited, comes out as it went in', async () => {
    await using made = await testStore();
    let number = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyPart, { maxLength: 6 }),
        fc.array(anyEdit, { maxLength: 4 }),
        fc.nat({ max: 5000 }),
        async (parts, edits, tail) => {
          for (const disk of [diskOf(parts, tail), diskOf(edited(parts, edits), tail)]) {
            const path = await made.disk(`disk-${number++}`, disk);
            const stored = await putDisk(made.store, path);
            expect(stored).toMatchObject({ size: disk.length, sha256: digestOf(disk) });
            const out = join(made.folder, 'out.raw');
            await extractDisk(made.store, stored.digest, out);
            expect((await readFile(out)).equals(disk)).toBe(true);
            const again = await putDisk(made.store, path);
            expect(again).toMatchObject({ digest: stored.digest, addedBytes: 0, existed: true });
          }
        },
      ),
      { numRuns: 20 },
    );
  });

  test('any range can be read', async () => {
    await using made = await testStore();
    const disk = diskOf(
      [
        { kind: 'text', seed: 5, blocks: 100 },
        { kind: 'zero', seed: 0, blocks: 50 },
        { kind: 'noise', seed: 6, blocks: 200 },
        { kind: 'zero', seed: 0, blocks: 10 },
      ],
      777,
    );
    const { digest } = await putDisk(made.store, await made.disk('disk', disk));
    const reader = await openDisk(made.store, digest);
    expect(reader.size).toBe(disk.length);
    await fc.assert(
      fc.asyncProperty(fc.nat({ max: disk.length }), fc.nat({ max: 300_000 }), async (at, length) => {
        const end = Math.min(disk.length, at + length);
        const read = await reader.read(at, Buffer.alloc(end - at, 0xff));
        expect(read.equals(disk.subarray(at, end))).toBe(true);
      }),
      { numRuns: 60 },
    );
    await expect(reader.read(disk.length - 1, Buffer.alloc(2))).rejects.toThrow(/off the disk/);
    for (const { offset, length } of reader.extents) expect(offset + length).toBeLessThanOrEqual(disk.length);
    await reader.close();
    await reader.close();
  });

  test('zeros cost nothing, in the store and in the file that comes out', async () => {
    await using made = await testStore();
    const path = await made.disk('disk', noise('little', 10 * blockSize));
    await truncate(path, 300_000_000);
    const extents = [{ offset: 0, length: 10 * blockSize }];
    const stored = await putDisk(made.store, path, { extents });
    expect(stored.storedBytes).toBeLessThan(11 * blockSize);
    const out = join(made.folder, 'out.raw');
    const { dataBytes } = await extractDisk(made.store, stored.digest, out);
    const { size, blocks } = await stat(out);
    expect({ dataBytes, size }).toEqual({ dataBytes: 10 * blockSize, size: 300_000_000 });
    expect(blocks * 512).toBeLessThan(1_000_000);
  });

  test('a changed part costs what it compresses to, and little more', async () => {
    await using made = await testStore();
    const parts = Array.from({ length: 40 }, (_, seed): DiskPart => ({ kind: 'noise', seed, blocks: 60 }));
    await putDisk(made.store, await made.disk('before', diskOf(parts)));
    const changed = parts.toSpliced(20, 1, { kind: 'noise', seed: 999, blocks: 73 });
    const { addedBytes } = await putDisk(made.store, await made.disk('after', diskOf(changed)));
    expect(addedBytes).toBeGreaterThan(73 * blockSize);
    expect(addedBytes).toBeLessThan(73 * blockSize + 600_000);
  });

  test('one disk under two annotations is two versions of the same packs', async () => {
    await using made = await testStore();
    const path = await made.disk('disk', diskOf([{ kind: 'noise', seed: 1, blocks: 100 }]));
    const one = await putDisk(made.store, path, { annotations: { version: '1.0.0' } });
    const two = await putDisk(made.store, path, { annotations: { version: '1.0.1' } });
    expect(two.digest).not.toBe(one.digest);
    expect(two.addedBytes).toBeLessThan(2000);
    const { size, sha256, storedBytes } = two;
    expect(await describeDisk(made.store, two.digest)).toMatchObject({
      size,
      sha256,
      storedBytes,
      annotations: { version: '1.0.1' },
    });
    const again = await putDisk(made.store, path, { annotations: { version: '1.0.0' } });
    expect(again).toMatchObject({ digest: one.digest, addedBytes: 0 });
  });

  test('a version never refers to packs that are mostly of no use to it', async () => {
    await using made = await testStore();
    const parts = Array.from({ length: 60 }, (_, seed): DiskPart => ({ kind: 'noise', seed, blocks: 40 }));
    await putDisk(made.store, await made.disk('before', diskOf(parts)));
    const kept = parts
      .slice(0, 15)
      .concat(
        Array.from({ length: 10 }, (_, seed): DiskPart => ({ kind: 'noise', seed: seed + 500, blocks: 40 })),
      );
    const disk = diskOf(kept);
    const { digest, storedBytes } = await putDisk(made.store, await made.disk('after', disk));
    expect(storedBytes).toBeLessThan(disk.length * 1.07);
    const index = await readDiskIndex(made.store, await readDiskManifest(made.store, digest));
    expect(index.packs.length).toBe(1);
    const out = join(made.folder, 'out');
    await extractDisk(made.store, digest, out);
    expect((await readFile(out)).equals(disk)).toBe(true);
  });

  test('a fixed VHD is stored without its footer', async () => {
    await using made = await testStore();
    const disk = diskOf([{ kind: 'text', seed: 3, blocks: 30 }]);
    const raw = await putDisk(made.store, await made.disk('raw', disk));
    const vhd = await putDisk(
      made.store,
      await made.disk('vhd', Buffer.concat([disk, noise('footer', 512)])),
      {
        size: disk.length,
      },
    );
    expect(vhd.digest).toBe(raw.digest);
    await expect(
      putDisk(made.store, join(made.folder, 'raw'), { size: disk.length + 1 }),
    ).rejects.toMatchObject({
      code: 'input-invalid',
    });
  });

  test('what completes the file is in it before it appears', async () => {
    await using made = await testStore();
    const disk = diskOf([{ kind: 'text', seed: 3, blocks: 30 }]);
    const { digest } = await putDisk(made.store, await made.disk('raw', disk));
    const out = join(made.folder, 'out.vhd');
    await extractDisk(made.store, digest, out, {
      complete: async (path) => writeFile(path, Buffer.from('footer'), { flag: 'a' }),
    });
    expect((await readFile(out)).equals(Buffer.concat([disk, Buffer.from('footer')]))).toBe(true);
  });

  test('a disk that is written to while it is stored is refused', async () => {
    await using made = await testStore();
    const path = await made.disk('disk', diskOf([{ kind: 'noise', seed: 1, blocks: 2000 }]));
    let touched = false;
    const put = putDisk(made.store, path, {
      onProgress() {
        if (touched) return;
        touched = true;
        void writeFile(path, 'x', { flag: 'r+' });
      },
    });
    await expect(put).rejects.toMatchObject({ code: 'disk-changed' });
    expect(await made.store.list()).toEqual([]);
  });

  test('a cancelled put lists nothing and leaves no temporary file; the next one succeeds', async () => {
    await using made = await testStore();
    const disk = diskOf([{ kind: 'noise', seed: 1, blocks: 3000 }]);
    const path = await made.disk('disk', disk);
    const stop = new AbortController();
    const put = putDisk(made.store, path, { signal: stop.signal, onProgress: () => stop.abort() });
    await expect(put).rejects.toMatchObject({ code: 'cancelled' });
    expect(await made.store.list()).toEqual([]);
    expect(await readdir(made.store.paths.temporary)).toEqual([]);
    expect(made.store.owner.pinned()).toEqual([]);
    await expect(putDisk(made.store, path)).resolves.toMatchObject({ sha256: digestOf(disk) });
  });

  test('an extract that fails leaves the old file and nothing else', async () => {
    await using made = await testStore();
    const { digest } = await putDisk(
      made.store,
      await made.disk('disk', diskOf([{ kind: 'noise', seed: 1, blocks: 50 }])),
    );
    const out = await made.disk('out', Buffer.from('precious'));
    const complete = async () => {
      throw new Error('no footer');
    };
    await expect(extractDisk(made.store, digest, out, { complete })).rejects.toThrow('no footer');
    expect(await readFile(out, 'utf8')).toBe('precious');
    expect((await readdir(made.folder)).sort()).toEqual(['disk', 'out', 'store']);
  });

  test('the same disk is stored once when two ask at the same time', async () => {
    await using made = await testStore();
    const path = await made.disk('disk', diskOf([{ kind: 'noise', seed: 9, blocks: 300 }]));
    const [one, two] = await Promise.all([putDisk(made.store, path), putDisk(made.store, path)]);
    expect(one?.digest).toBe(two?.digest);
    expect([one?.addedBytes, two?.addedBytes]).toContain(0);
  });

  test('two disks at the same time', async () => {
    await using made = await testStore();
    const disks = [1, 2].map((seed) => diskOf([{ kind: 'noise', seed, blocks: 300 }]));
    const paths = await Promise.all(disks.map((disk, number) => made.disk(`disk-${number}`, disk)));
    const stored = await Promise.all(paths.map((path) => putDisk(made.store, path)));
    expect((await made.store.list()).length).toBe(2);
    for (const [number, { digest }] of stored.entries()) {
      expect((await verifyDisk(made.store, digest)).damages).toEqual([]);
      const out = join(made.folder, `out-${number}`);
      await extractDisk(made.store, digest, out);
      expect((await readFile(out)).equals(disks[number] ?? Buffer.alloc(0))).toBe(true);
    }
  });

  test('is open in one process at a time', async () => {
    await using made = await testStore();
    await expect(openDiskStore(made.store.root, { waitMs: 0 })).rejects.toMatchObject({ code: 'store-busy' });
    await made.store.close();
    await (await openDiskStore(made.store.root, { waitMs: 0 })).close();
  });

  test('tags move, go, and are listed', async () => {
    await using made = await testStore();
    const [one, two] = await Promise.all(
      [1, 2].map(async (seed) =>
        putDisk(made.store, await made.disk(`disk-${seed}`, diskOf([{ kind: 'text', seed, blocks: 9 }]))),
      ),
    );
    if (one === undefined || two === undefined) throw new Error('two disks were put');
    await made.store.tag('v1', one.digest);
    await made.store.tag('stable', one.digest);
    await made.store.tag('stable', two.digest);
    expect(await made.store.resolve('stable')).toBe(two.digest);
    expect(await made.store.resolve('nothing')).toBeUndefined();
    await made.store.index.untag('v1');
    const listed = await made.store.list();
    expect(listed.find((disk) => disk.digest === one.digest)?.tags).toEqual([]);
    expect(listed.find((disk) => disk.digest === two.digest)?.tags).toEqual(['stable']);
    await expect(made.store.tag('not a tag', one.digest)).rejects.toMatchObject({ code: 'input-invalid' });
    await expect(made.store.tag('v2', digestOf(Buffer.from('?')))).rejects.toMatchObject({
      code: 'store-not-found',
    });
  });

  test('a version that is not there is not found, by any way', async () => {
    await using made = await testStore();
    const nothing = digestOf(Buffer.from('nothing'));
    const missing = { code: 'store-not-found' };
    await expect(openDisk(made.store, nothing)).rejects.toMatchObject(missing);
    await expect(extractDisk(made.store, nothing, join(made.folder, 'out'))).rejects.toMatchObject(missing);
    await expect(attach(made.store, nothing, { artifactType: 'a/b', parts: [] })).rejects.toMatchObject(
      missing,
    );
    await expect(describeDisk(made.store, nothing)).rejects.toMatchObject(missing);
    await expect(putDisk(made.store, made.folder)).rejects.toMatchObject({ code: 'input-invalid' });
    await expect(putDisk(made.store, join(made.folder, 'no-such-disk'))).rejects.toMatchObject({
      code: 'file-missing',
    });
    expect((await verifyDisk(made.store, nothing)).damages).toMatchObject([
      { role: 'manifest', kind: 'missing' },
    ]);
  });

  test('a folder with something else in it is refused and left alone', async () => {
    await using made = await testStore();
    const folder = join(made.folder, 'photos');
    await mkdir(folder);
    await writeFile(join(folder, 'holiday.jpg'), '');
    await expect(openDiskStore(folder)).rejects.toMatchObject({ code: 'store-invalid' });
    expect(await readdir(folder)).toEqual(['holiday.jpg']);
    const future = join(made.folder, 'future');
    await mkdir(future);
    await writeFile(join(future, 'oci-layout'), '{"imageLayoutVersion":"9.0.0"}');
    await expect(openDiskStore(future)).rejects.toMatchObject({ code: 'store-invalid' });
    await expect(openDiskStore(join(folder, 'holiday.jpg'))).rejects.toMatchObject({ code: 'store-invalid' });
  });

  test('everything outside of .imago is the OCI image layout', async () => {
    await using made = await testStore();
    const { digest } = await putDisk(
      made.store,
      await made.disk('d', diskOf([{ kind: 'text', seed: 1, blocks: 5 }])),
    );
    const names = (await storedFiles(made.store.root)).filter((name) => !name.startsWith('.imago'));
    expect(names.slice(0, 2)).toEqual(['blobs', 'blobs/sha256']);
    expect(names.slice(-2)).toEqual(['index.json', 'oci-layout']);
    const index = JSON.parse(await readFile(join(made.store.root, 'index.json'), 'utf8'));
    expect(index).toMatchObject({ schemaVersion: 2, manifests: [{ digest }] });
  });
});
