// Signing that was set up and does not work is an error: nothing is promoted unsigned, and going back still works.
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createImago, type Imago, recipe } from '../support/imago.ts';
import { makeNodeDisk } from '../support/node-disk.ts';

let imago: Imago;
let ring: string;
const versions: string[] = [];

beforeAll(async () => {
  imago = await createImago();
  ring = join(imago.home, 'keys', 'keyring.json');
  await imago.json(['keys', 'create']);
  for (const kubernetes of ['1.34.2', '1.34.3']) {
    await imago.writeFile('imago.yaml', recipe.replace('1.34.2', kubernetes));
    const { version } = await imago.json<{ version: string }>(['build']);
    versions.push(version);
    await imago.json(['test', `node:${version}`]);
  }
  await imago.json(['channel', 'promote', `node:${versions[0]}`, '--to', 'production', '--reason', 'first']);
});
afterAll(() => imago.end());

const promote = () => ['channel', 'promote', `node:${versions[1]}`, '--to', 'production', '--reason', 'next'];
const production = async () =>
  (await imago.json<{ version: string }>(['resolve', 'node:production'])).version;

test.each([
  ['a damaged keyring', () => writeFile(ring, '{"keys": [')],
  ['a keyring that is missing beside its keys', () => rm(ring)],
])('%s stops a promotion before the channel moves, in a dry run too', async (_, damage) => {
  const good = await readFile(ring);
  await damage();
  try {
    for (const words of [promote(), [...promote(), '--dry-run']]) {
      const { code, err } = await imago.run(words);
      expect(err).toMatch(/keyring/);
      expect(code).not.toBe(0);
    }
    expect(await production()).toBe(versions[0]);
  } finally {
    await writeFile(ring, good);
  }
});

test('keys that are gone altogether, as after a restore without them, stop a promotion too', async () => {
  const keys = join(imago.home, 'keys');
  await rename(keys, `${keys}-away`);
  try {
    for (const words of [promote(), [...promote(), '--dry-run']]) {
      const { code, err } = await imago.run(words);
      expect(err).toMatch(/was signed, and there is no key[\s\S]*imago keys create/);
      expect(code).toBe(3);
    }
    expect(await production()).toBe(versions[0]);
  } finally {
    await rm(keys, { recursive: true, force: true });
    await rename(`${keys}-away`, keys);
  }
});

test('keys that do not work never keep a channel from going back, and the move is reported as unsigned', async () => {
  expect(await imago.json(promote())).toMatchObject({ signed: true });
  const good = await readFile(ring);
  await writeFile(ring, '{');
  const { code, err } = await imago.run([
    ...['channel', 'rollback', 'node:production', '--reason', 'broken', '--yes'],
    ...['--expect', versions[1] ?? ''],
  ]);
  await writeFile(ring, good);
  expect(await production()).toBe(versions[0]);
  expect(err).toMatch(/keyring/);
  expect(code).not.toBe(0);
});

test('the gate `signed` keeps a version without a signature out, and no signature is made up', async () => {
  const policy = 'version: 1\nchannels:\n  production:\n    signed: {by: [farm]}\n';
  const file = await imago.writeFile('policy.yaml', policy);
  await imago.json(['policy', 'set', file, '--reason', 'signed only']);
  const { code, err } = await imago.run(promote());
  expect(err).toContain('✗ signed: needs signatures of farm; it is not signed');
  expect(code).toBe(4);
});

test('the mark of private inputs survives an export and an import under another name', async () => {
  const folder = join(imago.folder, 'disk');
  await mkdir(folder);
  const { path } = await makeNodeDisk(folder, { release: 'RESTRICTED="yes"\n' });
  const file = join(folder, 'exported.qcow2');
  await imago.json(['image', 'import', path, '--name', 'secret']);
  await imago.json(['image', 'export', 'secret', file]);
  await imago.json(['image', 'import', file, '--name', 'renamed']);
  for (const name of ['secret', 'renamed'])
    expect(await imago.json(['image', 'show', name])).toMatchObject({ restricted: true });
  const pushed = await imago.run(['image', 'push', 'renamed:1.0.0', '127.0.0.1:1/images/renamed']);
  expect(pushed.err).toContain('has private inputs');
  expect(pushed.code).toBe(4);
});
