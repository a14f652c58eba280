// Real builds by the commands that people type, with a daemon of their own and layers of packages that are there
// already: what a dry run tells, a hotfix and its proof, healing by a rebuild, a shell in a layer that failed.
import { mkdir, open, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { writeLockFile } from '../../src/build/lock/lock-file.ts';
import { type BuildFixture, buildFixture, daemonCache, firstBuildMs } from '../support/build-fixture.ts';
import { type FileServer, startFileServer } from '../support/file-server.ts';
import { createImago, type Finished, type Imago } from '../support/imago.ts';
import { recipeText } from '../support/test-recipe.ts';

interface Built {
  readonly version: string;
  readonly digest: string;
  readonly reused: boolean;
  readonly proven?: boolean;
  readonly lockChanges?: readonly string[];
  readonly operation: string;
}

/** Builds share the machine with all other tests. */
vi.setConfig({ testTimeout: firstBuildMs });

const examples = resolve(import.meta.dirname, '../../examples');
const secret = 'hushhush';
let fixture: BuildFixture;
let server: FileServer;
let imago: Imago;
let env: Record<string, string>;

/** A tool that comes from an address, at a place that holds its version, and something that is nobody's business. */
function recipe(): string {
  return recipeText.replace(
    '      file: tool\n    to: /usr/local/bin/tool\n',
    [
      `      url: ${server.address}/tool-\${version}`,
      `    to: /opt/tool-\${version}/bin/tool`,
      `  - name: ${secret}`,
      '    version: "1"',
      '    from:',
      `      file: ${secret}-file`,
      `    to: /opt/${secret}/it`,
      '    private: true',
      '',
    ].join('\n'),
  );
}

const run = (words: readonly string[], input = '') => imago.run(words, { env, cwd: fixture.folder, input });
const json = <T>(words: readonly string[]) => imago.json<T>(words, { env, cwd: fixture.folder });
const plan = async (words: readonly string[]) =>
  (await json<{ plan: string[] }>([...words, '--dry-run'])).plan;

beforeAll(async () => {
  [fixture, server, imago] = await Promise.all([buildFixture(), startFileServer(), createImago()]);
  for (const version of ['1.0.0', '1.0.1']) server.files.set(`/tool-${version}`, `tool ${version}`);
  env = { IMAGO_PROVIDER: 'local', IMAGO_CACHE: await daemonCache(fixture.folder, fixture.cache) };
  await writeFile(join(fixture.folder, `${secret}-file`), 'x');
  await writeFile(join(fixture.folder, 'imago.yaml'), recipe());
  await writeFile(join(fixture.folder, 'imago.lock'), writeLockFile(fixture.lock.recipe, [fixture.lock]));
}, firstBuildMs);
afterAll(async () => {
  await imago?.end();
  await server?.close();
  await fixture?.end();
});

describe('a recipe that is built', () => {
  let first: Built;
  let told: Finished;

  test('is foreseen layer by layer by a dry run, which writes nothing and asks nobody', async () => {
    await run(['up']);
    const look = async () => [
      await readdir(fixture.cache, { recursive: true }),
      await readdir(join(imago.home, 'store'), { recursive: true }).catch(() => []),
    ];
    const before = await look();
    const lines = await plan(['build']);
    expect(lines).toContain('Resolve tool; the rest assumes that they changed.');
    expect(lines).toContain('Download nothing, and what is resolved again.');
    expect(lines).toContain('Layer base: hit.');
    expect(lines).toContain('Layer packages containerd, runc: hit.');
    expect(lines).toContain('Layer component tool: miss.');
    expect(lines).toContainEqual(expect.stringMatching(/^Layer component private-\d: miss\.$/));
    expect(lines).toContainEqual(
      expect.stringMatching(/^Build the disk, in about \d.* \(partly a guess\)\.$/),
    );
    expect(await look()).toEqual(before);
    expect(server.asked).toEqual([]);
  });

  test('becomes a version, and a second dry run says that it is there already', async () => {
    told = await run(['build', '--json']);
    expect(told.code, told.err).toBe(0);
    first = JSON.parse(told.out) as Built;
    expect(first).toMatchObject({ version: '1.0.0', reused: false });
    expect(first).not.toHaveProperty('proven');
    expect(first.lockChanges).toContainEqual(expect.stringMatching(/^tool 1\.0\.0/));
    const stale = await run(['build', '--locked']);
    expect(stale.err).toMatch(/The lock is not the one of tested/);
    expect(stale.code).toBe(2);
    await run(['recipe', 'lock']);
    const exact = await json<Built>(['build', '--locked']);
    expect(exact).toMatchObject({ version: '1.0.0', reused: true });
    expect(exact).not.toHaveProperty('lockChanges');
    expect(await plan(['build'])).toEqual([
      'Lock recipe tested.',
      'Nothing more: tested:1.0.0 has this lock.',
    ]);
    const text = await readFile(join(fixture.folder, 'imago.yaml'), 'utf8');
    await writeFile(join(fixture.folder, 'changed.yaml'), text.replace('ip_forward: 1', 'ip_forward: 0'));
    await writeFile(
      join(fixture.folder, 'changed.lock'),
      await readFile(join(fixture.folder, 'imago.lock'), 'utf8'),
    );
    const changed = await plan(['build', 'changed.yaml']);
    expect(changed).toContain('All inputs are resolved.');
    expect(changed.filter((line) => line.endsWith(': miss.'))).toEqual(['Layer configuration: miss.']);
    expect(changed).toContainEqual(expect.stringMatching(/\(as long as such steps took before\)\.$/));
    const against = expect.stringMatching(/Against tested:1\.0\.0: [^;]*ip_forward[^;]*\.$/);
    expect(changed).toContainEqual(against);
    const released = await plan(['release', 'changed.yaml', '--reason', 'a look', '--to', 'staging']);
    expect(released.filter((line) => line.startsWith('lock: '))).toContainEqual(against);
    expect(released).toContain('build: Layer configuration: miss.');
    expect(released).toContain('promote-staging: Move tested:staging from nothing to the new version.');
  });

  test('with a private input names it neither in what it says nor in its log', async () => {
    const { logs } = await json<{ logs: { line: string }[] }>(['op', 'show', first.operation, '--logs']);
    const lines = logs.map(({ line }) => line);
    expect(lines).toContainEqual(expect.stringMatching(/^component private-\d: done in /));
    expect([...lines, told.err, told.out].filter((text) => text.includes(secret))).toEqual([]);
    const { steps } = await json<{ steps: { name: string }[] }>(['op', 'show', first.operation]);
    expect(steps.map(({ name }) => name)).toEqual(['lock', 'build', 'number', 'records', 'sign', 'seal']);
  });

  test('is hotfixed by one component, and the difference shows that nothing else changed', async () => {
    const words = ['build', '--from', 'tested:1.0.0', '--set', 'tool=1.0.1'];
    const lines = await plan(words);
    const missing = lines.filter((line) => line.endsWith(': miss.'));
    expect(missing).toEqual(['Layer component tool: miss.', 'Layer configuration: miss.']);
    const fixed = await json<Built>(words);
    expect(fixed).toMatchObject({ version: '1.0.1', reused: false, proven: true });
    const made = await json<{ items: { version: string }[] }>(['image', 'descendants', 'tested:1.0.0']);
    expect(made.items.map(({ version }) => version)).toContain('1.0.1');
    const { diff } = await json<{ diff: Record<string, { name: string }[]> }>([
      ...['image', 'diff', 'tested:1.0.0', 'tested:1.0.1'],
    ]);
    const { files = [], settings = [], sizes: _, ...others } = diff;
    const moved = files.map(({ name }) => name).filter((name) => !['/', '/opt', '/etc'].includes(name));
    expect(moved.sort()).toEqual([
      '/etc/imago-release',
      ...['1.0.0', '1.0.1'].flatMap((version) => [
        `/opt/tool-${version}`,
        `/opt/tool-${version}/bin`,
        `/opt/tool-${version}/bin/tool`,
      ]),
      '/usr/lib/imago/components/tool.json',
    ]);
    expect(settings.map(({ name }) => name.split(' ')[0])).toEqual(settings.map(() => 'release'));
    expect(Object.values(others).flat()).toEqual([]);
    const again = await run(words);
    expect(again.out).toMatch(/tested:1\.0\.1 already exists/);
    expect(again.out).toMatch(/The comparison of both disks proves that nothing else changed\./);
  });

  test('is mended by a rebuild when a bit of its disk flips', async () => {
    const blobs = join(imago.home, 'store', 'blobs', 'sha256');
    const manifest = await readFile(join(blobs, first.digest.replace('sha256:', '')), 'utf8');
    const { layers } = JSON.parse(manifest) as { layers: { digest: string; mediaType: string }[] };
    const pack = layers.find(({ mediaType }) => mediaType.includes('pack'))?.digest ?? '';
    await flipBit(join(blobs, pack.replace('sha256:', '')), 1000);
    const looked = await run(['image', 'verify', 'tested:1.0.0', '--no-repair']);
    expect(looked.code).toBe(1);
    expect(looked.err).toContain(pack.slice(7, 19));
    const { healed } = await json<{ healed: string[] }>(['image', 'verify', 'tested:1.0.0']);
    expect(healed).toEqual([expect.stringContaining('(repaired from a new build)')]);
    expect(await json(['image', 'verify', 'tested:1.0.0', '--no-repair'])).toMatchObject({ found: [] });
  });
});

test('a layer that failed can be looked at, and is gone when its shell ends', async () => {
  const text = await readFile(join(fixture.folder, 'imago.yaml'), 'utf8');
  const anchor = `  trust:\n    - name: ${'a'.repeat(255)}\n      content: x\n`;
  await writeFile(
    join(fixture.folder, 'failing.yaml'),
    `${text.replace('name: tested', 'name: failing')}${anchor}`,
  );
  await writeFile(
    join(fixture.folder, 'failing.lock'),
    await readFile(join(fixture.folder, 'imago.lock'), 'utf8'),
  );
  const { code, out, err } = await run(
    ['build', 'failing.yaml', '--shell-on-failure'],
    'echo INSIDE $(cat /etc/debian_version | head -c 2); ls -d /usr/local/share/ca-certificates\n',
  );
  expect(code).toBe(1);
  expect(err).toMatch(/This is the layer that failed/);
  expect(err).toMatch(/Adding trust anchors failed/);
  expect(out).toMatch(/^INSIDE 13$/m);
  expect(out).toMatch(/^\/usr\/local\/share\/ca-certificates$/m);
  expect(await readdir(join(fixture.cache, 'work'))).toEqual([]);
  expect(
    (await json<{ items: { name: string }[] }>(['image', 'list'])).items.map(({ name }) => name),
  ).toEqual(['tested']);
});

describe('a recipe that is built on a machine', () => {
  test('is refused at once where there is no Windows', async () => {
    const { code, err } = await run(['build', join(examples, 'windows', 'imago.yaml')]);
    expect(code).toBe(4);
    expect(err).toMatch(/is built on Windows, and provider local has no Windows machines/);
    expect(err).not.toMatch(/op retry/);
    const checked = await run(['recipe', 'check', join(examples, 'windows', 'imago.yaml')]);
    expect(checked.out).toMatch(/is a valid recipe\n.* is built on Windows/);
  });

  test('is locked with the digest of its base, which must exist', async () => {
    const file = join(fixture.folder, 'machine', 'imago.yaml');
    await mkdir(dirname(file));
    const steps = 'steps: [{name: nothing, run: "true"}]';
    const text = (base: string) => `name: on-machine\nmethod: machine\nbase: {image: ${base}}\n${steps}\n`;
    await writeFile(file, text('nowhere'));
    const refused = await run(['recipe', 'lock', file]);
    expect(refused.code).toBe(3);
    expect(refused.err).toMatch(/no image nowhere.*imago image import FILE --name nowhere/s);
    await writeFile(file, text('tested'));
    const { out, err } = await run(['recipe', 'lock', file]);
    expect(out, err).toMatch(/Wrote .*imago\.lock/);
    const { digest } = await json<{ digest: string }>(['image', 'show', 'tested']);
    expect(await readFile(file.replace('.yaml', '.lock'), 'utf8')).toContain(digest.replace('sha256:', ''));
  });
});

async function flipBit(path: string, position: number): Promise<void> {
  const handle = await open(path, 'r+');
  try {
    const byte = Buffer.alloc(1);
    await handle.read(byte, 0, 1, position);
    byte.writeUInt8(byte.readUInt8() ^ 1);
    await handle.write(byte, 0, 1, position);
  } finally {
    await handle.close();
  }
}
