// Packages come from archives whose signed index lists them, and from nowhere else: shown on an archive with Ubuntu's
// layout and a key of its own, with locks that were changed, and with an index that expired.
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { contentFolder } from '../../src/build/content/content-folder.ts';
import { lockDigest } from '../../src/build/lock/lock-file.ts';
import { inputsOf, type Lock, type LockedInput, makeLock } from '../../src/domain/lock/lock.ts';
import { loadVariant } from '../support/build-child.ts';
import { type BuildFixture, buildFixture, call, firstBuildMs, quiet } from '../support/build-fixture.ts';
import { type FileServer, startFileServer } from '../support/file-server.ts';
import {
  type ArchiveKey,
  archiveKey,
  lockedPackages,
  makePackage,
  type PackageFile,
  serveArchive,
} from '../support/signed-archive.ts';

vi.setConfig({ testTimeout: firstBuildMs, hookTimeout: firstBuildMs });

let fixture: BuildFixture;
let server: FileServer;
let key: ArchiveKey;
let other: ArchiveKey;
let place: string;
let main: readonly PackageFile[];
let universe: readonly PackageFile[];
let lock: Lock;

/** As Ubuntu has it: two components, and updates that are newer than the release. */
async function serve(options: { readonly key?: ArchiveKey; readonly validUntil?: Date } = {}): Promise<void> {
  const [hello, newer] = universe;
  if (hello === undefined || newer === undefined) throw new Error('the packages were not made');
  const content = { noble: { main, universe: [hello] }, 'noble-updates': { main: [], universe: [newer] } };
  await serveArchive(server, options.key ?? key, content, options);
}

async function recipeText(keyFile: string): Promise<string> {
  const armored = (await readFile(keyFile, 'utf8')).trimEnd().split('\n');
  return `name: own-archive
numbering: semver
base:
  suite: noble
  mirror: ${server.address}
  components: [main, universe]
  keys:
    - |
${armored.map((line) => `      ${line}`.trimEnd()).join('\n')}
packages:
  - hello-own
`;
}

/** With the newest of everything, whatever was locked before. */
async function lockOwn(keyFile = key.armored): Promise<Lock> {
  const file = join(await mkdtemp(join(place, 'recipe-')), 'imago.yaml');
  await writeFile(file, await recipeText(keyFile));
  return fixture.builder().tools.relock(await loadVariant({ recipe: file }), quiet, call);
}

/** The lock with its inputs changed, as a client could send it. */
function changed(change: (input: LockedInput) => LockedInput | readonly LockedInput[]): Lock {
  return makeLock(lock.recipe, lock.inputs.flatMap(change), lock);
}

const nameIs = (name: string) => (input: LockedInput) => input.kind === 'package' && input.name === name;

/** What builds share: all but the logs of builds. */
async function cached(): Promise<readonly string[]> {
  const shared = ['content', 'locked-tools', 'trees', 'work', 'records'];
  return (await Promise.all(shared.map((name) => pathsBelow(join(fixture.cache, name))))).flat();
}

/** Links are not followed: a tree's `/var/run` leads to the host's own. */
async function pathsBelow(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const below = entries.map(async (entry) => {
    const path = join(folder, entry.name);
    return entry.isDirectory() ? [path, ...(await pathsBelow(path))] : [path];
  });
  return (await Promise.all(below)).flat().sort();
}

async function forgetVerified(): Promise<void> {
  await rm(join(fixture.cache, 'records', 'verified'), { recursive: true, force: true });
}

beforeAll(async () => {
  fixture = await buildFixture();
  place = await mkdtemp(join(tmpdir(), 'imago-signed-'));
  server = await startFileServer();
  [key, other] = [await archiveKey(), await archiveKey('Another archive')];
  main = await lockedPackages(fixture.lock, join(fixture.cache, 'content'));
  universe = [
    await makePackage(place, { name: 'hello-own', version: '1.0-1ubuntu1' }),
    await makePackage(place, { name: 'hello-own', version: '1.0-1ubuntu1.1' }),
  ];
  await serve();
  lock = await lockOwn();
});

afterAll(async () => {
  await server?.close();
  await key?.end();
  await other?.end();
  await fixture?.end();
  await rm(place, { recursive: true, force: true });
});

test('the lock names the signed index of locking time, and the tools come from Debian', () => {
  const names = inputsOf(lock, 'index').map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['apt/noble/InRelease', 'apt/noble/main']));
  expect(names).toEqual(
    expect.arrayContaining(['apt/noble-updates/InRelease', 'apt/noble-updates/universe']),
  );
  expect(names).toContain('debian/trixie/InRelease');
  const own = inputsOf(lock, 'package').find(nameIs('hello-own'));
  expect(own).toMatchObject({ version: '1.0-1ubuntu1.1', source: expect.stringMatching(/^apt:pool\//) });
  const tools = inputsOf(lock, 'package').filter(({ sets }) => sets?.join() === 'tools');
  expect(tools.length).toBeGreaterThan(0);
  expect(tools.filter(({ source }) => !source.startsWith('debian'))).toEqual([]);
});

test('an archive with Ubuntu’s layout and a key of the recipe is built from', async () => {
  const { digest } = await fixture.build(lock);
  const { packages } = await fixture.inventory(digest);
  expect(packages).toContainEqual(expect.objectContaining({ name: 'hello-own', version: '1.0-1ubuntu1.1' }));
});

const hostile: readonly [string, () => Lock][] = [
  [
    'a package with another sha256',
    () => changed((one) => (nameIs('hello-own')(one) ? { ...one, sha256: universe[0]?.sha256 ?? '' } : one)),
  ],
  [
    'a package at another address',
    () => changed((one) => (nameIs('hello-own')(one) ? { ...one, source: 'apt:pool/main/other.deb' } : one)),
  ],
  [
    'a package with another version',
    () => changed((one) => (nameIs('hello-own')(one) ? { ...one, version: '9.9-1' } : one)),
  ],
  ['no index', () => changed((one) => (one.kind === 'index' ? [] : one))],
  [
    'tools that only the archive of the recipe has',
    () => changed((one) => (nameIs('hello-own')(one) ? { ...one, sets: ['packages', 'tools'] } : one)),
  ],
];

test.each(hostile)('a lock with %s is refused, and nothing changed', async (_, make) => {
  const before = await cached();
  const sealed = await fixture.store.list();
  const given = make();
  await expect(fixture.build(given)).rejects.toMatchObject({
    code: 'archive-untrusted',
    message: expect.stringContaining('The package '),
    hint: expect.stringContaining('imago recipe lock'),
  });
  const after = await cached();
  expect(after.filter((path) => !before.includes(path))).toEqual([]);
  expect(before.filter((path) => !after.includes(path))).toEqual([]);
  expect(await fixture.store.list()).toEqual(sealed);
});

test('an index that another key signed is refused, when it is locked and when it is built', async () => {
  await expect(lockOwn(other.armored)).rejects.toMatchObject({ code: 'archive-untrusted' });
  const [base] = [(await readFile(other.armored, 'utf8')).trimEnd()];
  const recipe = { ...lock.recipe, base: { ...lock.recipe.base, keys: [base] } };
  const given = makeLock(recipe, lock.inputs, lock);
  await expect(fixture.build(given)).rejects.toMatchObject({
    code: 'archive-untrusted',
    message: expect.stringContaining('is not signed by a key of its archive'),
  });
});

test('a lock whose index expired and is gone from the archive is still built', async () => {
  await serve({ validUntil: new Date(Date.now() - 24 * 3_600_000) });
  const store = contentFolder(fixture.cache);
  const replaced = new Map<string, LockedInput>();
  for (const suite of ['noble', 'noble-updates']) {
    const index = lock.inputs.find(({ name }) => name === `apt/${suite}/InRelease`);
    const { sha256, sizeBytes } = await store.addBytes(
      server.files.get(`/dists/${suite}/InRelease`) as Buffer,
    );
    if (index !== undefined) replaced.set(index.name, { ...index, sha256, sizeBytes });
  }
  await expect(lockOwn()).rejects.toMatchObject({ code: 'archive-untrusted' });
  for (const path of server.files.keys()) if (path.startsWith('/dists/')) server.files.delete(path);
  const old = changed((one) => replaced.get(one.name) ?? one);
  expect(lockDigest(old)).not.toBe(lockDigest(lock));
  await expect(fixture.build(old)).resolves.toMatchObject({ digest: expect.stringMatching(/^sha256:/) });
  await serve();
});

test('an index that is neither in the cache nor at the archive is told, with what to do', async () => {
  await forgetVerified();
  const index = lock.inputs.find(({ name }) => name === 'apt/noble/InRelease');
  const sha256 = index?.sha256 ?? '';
  await rm(join(fixture.cache, 'content', sha256.slice(0, 2), sha256));
  server.files.delete('/dists/noble/InRelease');
  const given = makeLock({ ...lock.recipe, notes: 'another lock' }, lock.inputs, lock);
  await expect(fixture.build(given)).rejects.toMatchObject({
    code: 'input-missing',
    message: expect.stringContaining('apt/noble/InRelease'),
    hint: expect.stringContaining('imago recipe lock --newest'),
  });
  expect(existsSync(join(fixture.cache, 'records', 'verified'))).toBe(false);
});
