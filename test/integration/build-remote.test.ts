// A recipe with files, built by a daemon that has none of them: a client with a home of its own reaches it over TCP and
// TLS, and what it builds is what the daemon's own host builds.
import { cp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { writeLockFile } from '../../src/build/lock/lock-file.ts';
import { type BuildFixture, buildFixture, daemonCache, firstBuildMs } from '../support/build-fixture.ts';
import { createImago, type Imago } from '../support/imago.ts';
import { writeTestRecipe } from '../support/test-recipe.ts';
import { testCertificate, testKey } from '../support/tls-fixture.ts';

vi.setConfig({ testTimeout: firstBuildMs });

let fixture: BuildFixture;
let imago: Imago;
/** The tree of the recipe on the other host. */
let tree: string;
let remote: Record<string, string>;
let recipe: string;

beforeAll(async () => {
  [fixture, imago] = await Promise.all([buildFixture(), createImago()]);
  const env = { IMAGO_PROVIDER: 'local', IMAGO_CACHE: await daemonCache(fixture.folder, fixture.cache) };
  const [cert, key] = [
    await imago.writeFile('cert.pem', testCertificate),
    await imago.writeFile('key.pem', testKey),
  ];
  const up = await imago.run(['up', '--listen', '127.0.0.1:0', '--tls-cert', cert, '--tls-key', key], {
    env,
  });
  expect(up.code, up.err).toBe(0);
  const { listen } = await imago.json<{ listen: string }>(['status'], { env });
  const token = await imago.run(['token', 'create', '--owner', 'ci', '--role', 'publisher', '-o', 'name'], {
    env,
  });
  remote = {
    ...{ IMAGO_HOME: join(imago.folder, 'elsewhere'), IMAGO_CACHE: join(imago.folder, 'no-cache') },
    ...{ IMAGO_URL: `https://${listen}`, IMAGO_TOKEN: token.out.trim(), IMAGO_CA: cert },
  };
  tree = join(imago.folder, 'tree');
  await mkdir(join(tree, '.git'), { recursive: true });
  await writeTestRecipe(join(tree, 'node'));
  // One input is beside the recipe's directory, and one behind a link to a directory that is opened.
  await mkdir(join(tree, 'common'));
  await cp(join(tree, 'node', 'report'), join(tree, 'common', 'report'));
  await rm(join(tree, 'node', 'report'));
  await mkdir(join(imago.folder, 'downloads'));
  await cp(join(tree, 'node', 'parts.tar'), join(imago.folder, 'downloads', 'parts.tar'));
  await rm(join(tree, 'node', 'parts.tar'));
  await symlink(join(imago.folder, 'downloads'), join(tree, 'node', 'downloads'));
  recipe = join(tree, 'node', 'imago.yaml');
  const text = (await readFile(recipe, 'utf8'))
    .replace('file: report\n', 'file: ../common/report\n')
    .replace('tar: parts.tar', 'tar: downloads/parts.tar');
  await writeFile(recipe, text);
  await writeFile(join(tree, 'node', 'imago.lock'), writeLockFile(fixture.lock.recipe, [fixture.lock]));
}, firstBuildMs);
afterAll(async () => {
  await imago?.end();
  await fixture?.end();
});

const run = (words: readonly string[], env = remote) => imago.run(words, { env, cwd: tree });
const files = () => ['--files', join(imago.folder, 'downloads')];
/** The size of each upload, as the client shows it. */
const sentSizes = (err: string) => [...err.matchAll(/send: .* of (.*)$/gm)].map(([, size]) => size);

test('is locked and built from the files that its client sends, and sent again only as far as they changed', async () => {
  const locked = await run(['recipe', 'lock', recipe, ...files()]);
  expect(locked.code, locked.err).toBe(0);
  expect(sentSizes(locked.err).length).toBeGreaterThan(0);
  const built = await run(['build', recipe, '--locked', ...files(), '--json']);
  expect(built.code, built.err).toBe(0);
  expect(sentSizes(built.err)).toEqual([]);
  const version = JSON.parse(built.out) as { digest: string; reused: boolean };
  expect(version.reused).toBe(false);

  const here = { IMAGO_PROVIDER: 'local' };
  const same = await imago.json<{ digest: string; reused: boolean }>(
    ['build', recipe, '--locked', ...files()],
    { env: here, cwd: tree },
  );
  expect(same).toMatchObject({ digest: version.digest, reused: true });

  const tool = '#!/bin/sh\necho tool of another kind\n';
  await writeFile(join(tree, 'node', 'tool'), tool);
  const changed = await run(['recipe', 'lock', recipe, ...files()]);
  expect(changed.code, changed.err).toBe(0);
  // The list, then the one file.
  expect(sentSizes(changed.err)).toEqual([expect.stringMatching(/KiB$/), `${tool.length} B`]);
});

test('names nothing outside of what its client opened, and nothing by an absolute path', async () => {
  const unopened = await run(['recipe', 'lock', recipe]);
  expect(unopened).toMatchObject({ code: 4, err: expect.stringContaining('downloads/parts.tar is outside') });
  const text = await readFile(recipe, 'utf8');
  const absolute = join(tree, 'node', 'absolute.yaml');
  await writeFile(absolute, text.replace('file: tool\n', 'file: /etc/hostname\n'));
  expect(await run(['recipe', 'lock', absolute, ...files()])).toMatchObject({
    code: 4,
    err: expect.stringContaining('/etc/hostname'),
  });
  const gone = join(tree, 'node', 'gone.yaml');
  await writeFile(gone, text.replace('file: tool\n', 'file: tol\n'));
  expect(await run(['recipe', 'lock', gone, ...files()])).toMatchObject({
    code: 2,
    err: expect.stringContaining('There is no file tol'),
  });
});

test('is not put into a schedule of the daemon, which has its files only for a while', async () => {
  const words = ['release', recipe, ...files(), '--every', '0 3 * * 1', '--reason', 'weekly'];
  const refused = await run(words);
  expect(refused.code, refused.err).toBe(4);
  expect(refused.err).toContain('schedule of your CI');
});
