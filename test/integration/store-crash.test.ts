// The store under kill -9, with a full disk, and with several callers: nothing partial is ever visible, and the next
// run succeeds.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runTool } from '../../src/host/process/run-tool.ts';
import { type DiskStore, openDiskStore } from '../../src/oci/disks/disk-store.ts';
import { extractDisk } from '../../src/oci/disks/extract-disk.ts';
import { putDisk } from '../../src/oci/disks/put-disk.ts';
import { verifyDisk } from '../../src/oci/disks/verify-disk.ts';
import { collectGarbage } from '../../src/oci/layout/collect-garbage.ts';
import { digestOf } from '../../src/oci/layout/digest.ts';
import { storePaths } from '../../src/oci/layout/paths.ts';
import { diskOf } from '../support/test-disks.ts';
import { until } from '../support/until.ts';

const childFile = join(import.meta.dirname, '../support/store-child.ts');
const parts = Array.from({ length: 9 }, (_, seed) => ({ kind: 'noise', seed, blocks: 1000 }) as const);
const disk = diskOf(parts);

let folder = '';
let diskPath = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-crash-'));
  diskPath = join(folder, 'disk');
  await writeFile(diskPath, disk);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Child {
  readonly process: ChildProcess;
  /** Resolves when the child has the store open. */
  readonly ready: Promise<unknown>;
  readonly answer: Promise<{ readonly [key: string]: unknown }>;
}

function child(root: string, ...args: string[]): Child {
  const started = spawn(process.execPath, [childFile, root, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const answer = text(started.stdout).then((line) => (line === '' ? {} : JSON.parse(line)));
  return { process: started, ready: once(started.stderr, 'data'), answer };
}

async function kill(running: Child): Promise<void> {
  const ended = running.process.exitCode !== null || running.process.signalCode !== null;
  const exit = ended ? undefined : once(running.process, 'exit');
  running.process.kill('SIGKILL');
  await exit;
}

function leftovers(store: DiskStore): Promise<string[]> {
  return readdir(store.paths.temporary);
}

async function putInto(root: string, path: string) {
  const store = await openDiskStore(root);
  try {
    return await putDisk(store, path);
  } finally {
    await store.close();
  }
}

describe('a put that is killed', () => {
  test('at any moment leaves nothing half made, and the next one succeeds', async () => {
    const root = join(folder, 'killed');
    const reference = await openDiskStore(join(folder, 'reference'));
    const { digest } = await putDisk(reference, diskPath);
    for (const delay of [0, 30, 80, 150, 250, 400]) {
      const running = child(root, 'put', diskPath);
      await running.ready;
      await sleep(delay);
      await kill(running);
      const store = await openDiskStore(root);
      for (const listed of await store.list())
        expect((await verifyDisk(store, listed.digest)).damages).toEqual([]);
      expect(await leftovers(store)).toEqual([]);
      await store.close();
    }
    const store = await openDiskStore(root);
    const stored = await putDisk(store, diskPath);
    expect(stored).toMatchObject({ digest, sha256: digestOf(disk) });
    expect((await verifyDisk(store, digest)).damages).toEqual([]);
    await store.close();
    await reference.close();
  });

  test('leaves finished packs that the next one takes up', async () => {
    const root = join(folder, 'resumed');
    const running = child(root, 'put', diskPath);
    await running.ready;
    const { blobs } = storePaths(root);
    await until(
      'a pack is stored',
      async () => (await readdir(blobs)).length > 0 || running.process.exitCode !== null,
    );
    await kill(running);
    const store = await openDiskStore(root);
    const bytesLeft = (await store.blobs.list()).reduce((sum, blob) => sum + blob.size, 0);
    expect(bytesLeft).toBeGreaterThan(10_000_000);
    const stored = await putDisk(store, diskPath);
    expect(stored.addedBytes).toBeLessThanOrEqual(stored.storedBytes - bytesLeft);
    expect((await verifyDisk(store, stored.digest)).damages).toEqual([]);
    await store.close();
  });
});

test('an extract that is killed leaves the old file, and the next one sweeps what it left', async () => {
  const root = join(folder, 'extracting');
  const { digest } = await putInto(root, diskPath);
  const place = join(folder, 'place');
  const out = join(place, 'out.raw');
  await runTool('mkdir', [place]);
  await writeFile(out, 'old');
  const running = child(root, 'extract', digest, out);
  await running.ready;
  await until(
    'the extract has begun',
    async () => (await readdir(place)).length > 1 || running.process.exitCode !== null,
  );
  await kill(running);
  const content = await readFile(out);
  expect(content.equals(Buffer.from('old')) || content.equals(disk)).toBe(true);
  const store = await openDiskStore(root);
  await extractDisk(store, digest, out);
  expect((await readFile(out)).equals(disk)).toBe(true);
  expect(await readdir(place)).toEqual(['out.raw']);
  await store.close();
});

test('a collection that is killed loses nothing that is needed, and the next one ends its work', async () => {
  const root = join(folder, 'collecting');
  const { digest } = await putInto(root, diskPath);
  for (let seed = 100; seed < 106; seed += 1) {
    await writeFile(join(folder, 'other'), diskOf([{ kind: 'noise', seed, blocks: 300 }]));
    await putInto(root, join(folder, 'other'));
  }
  const running = child(root, 'collect', digest);
  await running.ready;
  await sleep(5);
  await kill(running);
  const store = await openDiskStore(root);
  expect((await verifyDisk(store, digest)).damages).toEqual([]);
  await collectGarbage(store, { roots: [digest], graceMs: 0 });
  expect((await verifyDisk(store, digest)).damages).toEqual([]);
  expect(await store.list()).toEqual([{ digest, tags: [] }]);
  const dry = await collectGarbage(store, { roots: [digest], graceMs: 0, dryRun: true });
  expect(dry).toMatchObject({ bytes: 0, blobs: [] });
  await store.close();
});

test('several callers put, two of them the same disk, while another collects', async () => {
  const store = await openDiskStore(join(folder, 'crowd'));
  const otherPath = join(folder, 'crowd-disk');
  await writeFile(otherPath, diskOf([...parts.slice(0, 6), { kind: 'noise', seed: 55, blocks: 500 }]));
  const hold = store.owner.hold();
  let open = 3;
  const putting = [diskPath, diskPath, otherPath].map((path) =>
    putDisk(store, path, { hold }).finally(() => (open -= 1)),
  );
  while (open > 0) await collectGarbage(store, { roots: [], graceMs: 0 });
  const [one, two] = await Promise.all(putting);
  expect(one?.digest).toBe(two?.digest);
  for (const listed of await store.list())
    expect((await verifyDisk(store, listed.digest)).damages).toEqual([]);
  expect((await store.list()).length).toBe(2);
  hold.release();
  await store.close();
});

test('a second process waits until the first one closes the store', async () => {
  const root = join(folder, 'owned');
  const store = await openDiskStore(root);
  const waiting = child(root, 'put', diskPath);
  const { digest } = await putDisk(store, diskPath);
  await store.close();
  expect(await waiting.answer).toMatchObject({ digest, addedBytes: 0 });
});

test('a full disk is named, nothing half made is listed, and with more room the put succeeds', async () => {
  const script = `
    set -e
    mount -t tmpfs -o size=20m none "$1"
    "$2" "$3" "$1/store" put "$4" || true
    find "$1/store/.imago/tmp" -type f | wc -l
    cat "$1/store/index.json"; echo
    mount -o remount,size=200m "$1"
    "$2" "$3" "$1/store" put "$4"
  `;
  const place = await mkdtemp(join(folder, 'full-'));
  const { stdout } = await runTool(
    'unshare',
    [
      '--user',
      '--map-root-user',
      '--mount',
      'sh',
      '-c',
      script,
      'sh',
      place,
      process.execPath,
      childFile,
      diskPath,
    ],
    {},
  );
  const [failed = '', temporary, index = '', succeeded = ''] = stdout.toString('utf8').trim().split('\n');
  expect(JSON.parse(failed)).toMatchObject({ error: { code: 'no-space' } });
  expect(temporary).toBe('0');
  expect(JSON.parse(index)).toMatchObject({ manifests: [] });
  expect(JSON.parse(succeeded)).toMatchObject({ sha256: digestOf(disk) });
});
