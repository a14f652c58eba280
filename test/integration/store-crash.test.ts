// The store under kill -9, a full disk and several processes at once: nothing half made is ever seen, and the
// next run succeeds.
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
import { digestOf } from '../../src/oci/layout/digest.ts';
import { diskOf } from '../support/test-disks.ts';

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

async function leftovers(store: DiskStore): Promise<string[]> {
  const { temporary, pins, sessions } = store.context.paths;
  const names = await Promise.all([temporary, pins, sessions].map((path) => readdir(path)));
  return names.flat().filter((name) => !name.startsWith(store.context.session.id));
}

describe('a put that is killed', () => {
  test('at any moment leaves nothing half made, and the next one succeeds', async () => {
    const root = join(folder, 'killed');
    const reference = await openDiskStore(join(folder, 'reference'));
    const { digest } = await reference.put(diskPath);
    for (const delay of [0, 30, 80, 150, 250, 400]) {
      const running = child(root, 'put', diskPath);
      await running.ready;
      await sleep(delay);
      await kill(running);
      const store = await openDiskStore(root, { temporaryAgeMs: 0 });
      for (const listed of await store.list())
        expect((await store.verify(listed.digest)).damages).toEqual([]);
      expect(await leftovers(store)).toEqual([]);
      await store.close();
    }
    const store = await openDiskStore(root);
    const stored = await store.put(diskPath);
    expect(stored).toMatchObject({ digest, sha256: digestOf(disk) });
    expect((await store.verify(digest)).damages).toEqual([]);
    await store.close();
    await reference.close();
  });

  test('leaves finished packs that the next one takes up', async () => {
    const root = join(folder, 'resumed');
    const store = await openDiskStore(root);
    const running = child(root, 'put', diskPath);
    const { blobs } = store.context.paths;
    while ((await readdir(blobs)).length === 0 && running.process.exitCode === null) await sleep(2);
    await kill(running);
    const bytesLeft = (await store.context.blobs.list()).reduce((sum, blob) => sum + blob.size, 0);
    expect(bytesLeft).toBeGreaterThan(10_000_000);
    const stored = await store.put(diskPath);
    expect(stored.addedBytes).toBeLessThanOrEqual(stored.storedBytes - bytesLeft);
    expect((await store.verify(stored.digest)).damages).toEqual([]);
    await store.close();
  });
});

test('an extract that is killed leaves the old file, and the next one sweeps what it left', async () => {
  const root = join(folder, 'extracting');
  const store = await openDiskStore(root);
  const { digest } = await store.put(diskPath);
  const place = join(folder, 'place');
  const out = join(place, 'out.raw');
  await runTool('mkdir', [place]);
  await writeFile(out, 'old');
  const running = child(root, 'extract', digest, out);
  await running.ready;
  while ((await readdir(place)).length === 1 && running.process.exitCode === null) await sleep(1);
  await kill(running);
  const content = await readFile(out);
  expect(content.equals(Buffer.from('old')) || content.equals(disk)).toBe(true);
  for (const name of await readdir(place)) {
    if (name !== 'out.raw') await runTool('touch', ['-d', '1 hour ago', join(place, name)]);
  }
  await store.extract(digest, out);
  expect((await readFile(out)).equals(disk)).toBe(true);
  expect(await readdir(place)).toEqual(['out.raw']);
  await store.close();
});

test('a collection that is killed loses nothing that is needed, and the next one ends its work', async () => {
  const root = join(folder, 'collecting');
  const store = await openDiskStore(root);
  const { digest } = await store.put(diskPath);
  for (let seed = 100; seed < 106; seed += 1) {
    await writeFile(join(folder, 'other'), diskOf([{ kind: 'noise', seed, blocks: 300 }]));
    await store.put(join(folder, 'other'));
  }
  const running = child(root, 'collect', digest);
  await running.ready;
  await sleep(5);
  await kill(running);
  expect((await store.verify(digest)).damages).toEqual([]);
  await store.collectGarbage({ roots: [digest], graceMs: 0 });
  expect((await store.verify(digest)).damages).toEqual([]);
  expect(await store.list()).toEqual([{ digest, tags: [] }]);
  const dry = await store.collectGarbage({ roots: [digest], graceMs: 0, dryRun: true });
  expect(dry).toMatchObject({ bytes: 0, blobs: [] });
  await store.close();
});

test('several processes put, one of them the same disk, while another collects', async () => {
  const root = join(folder, 'crowd');
  await (await openDiskStore(root)).close();
  const otherPath = join(folder, 'crowd-disk');
  await writeFile(otherPath, diskOf([...parts.slice(0, 6), { kind: 'noise', seed: 55, blocks: 500 }]));
  const putting = [diskPath, diskPath, otherPath].map((path) => child(root, 'put', path));
  const store = await openDiskStore(root);
  const hold = store.hold();
  const own = store.put(diskPath, { hold });
  let open = putting.length;
  for (const { process: running } of putting) void once(running, 'exit').then(() => (open -= 1));
  while (open > 0) {
    await store.collectGarbage({ roots: [] });
    await sleep(20);
  }
  const [one, two, three] = await Promise.all(putting.map((running) => running.answer));
  expect(one?.digest).toBe(two?.digest);
  expect((await own).digest).toBe(one?.digest);
  expect(three?.error).toBeUndefined();
  for (const listed of await store.list()) expect((await store.verify(listed.digest)).damages).toEqual([]);
  expect((await store.list()).length).toBe(2);
  hold.release();
  await store.close();
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
