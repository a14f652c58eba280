import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, expect, test, vi } from 'vitest';
import { sampleLock } from '../../../test/support/inventory.ts';
import { type Lock, type LockedInput, makeLock } from '../../domain/lock/lock.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import { createBuilder } from '../builder.ts';
import { lockDigest, readLockFile, writeLockFile } from '../lock/lock-file.ts';
import { buildRules } from '../lock/rules.ts';
import { readRecipe } from '../recipe/read-recipe.ts';

/** Replaces the start of programs: nothing runs, and the arguments are kept. */
const started = vi.hoisted(() => {
  // Unit tests share their modules: the ones that other files loaded have the real function.
  vi.resetModules();
  return [] as string[][];
});
vi.mock('../../host/process/run-tool.ts', async (original) => ({
  ...(await original<object>()),
  runTool: async (program: string, args: readonly string[]) => {
    started.push([program, ...args]);
    return { exitCode: 0, stdout: Buffer.alloc(0), stderr: '' };
  },
}));

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'imago-words-'));
  await writeFile(join(folder, 'keyring.gpg'), '');
  started.length = 0;
});
afterEach(() => rm(folder, { recursive: true, force: true }));
afterAll(() => {
  vi.doUnmock('../../host/process/run-tool.ts');
  vi.resetModules();
});

const hostile = [
  '-oAPT::Get::Simulate=false',
  '-oDPkg::Pre-Invoke::=touch /tmp/pwned',
  '-oDebug::NoLocking=true',
];
const quiet = { progress() {}, log() {} };
const call = { signal: AbortSignal.timeout(60_000), idempotencyKey: 'one', epoch: 1 };
const builder = () =>
  createBuilder({
    cacheFolder: join(folder, 'cache'),
    mirror: 'http://127.0.0.1:1/debian',
    keyring: join(folder, 'keyring.gpg'),
  });

/** What no program may be given, and no configuration file may contain. */
async function expectHarmless(): Promise<void> {
  const words = started.flatMap(([, ...args]) => args.filter((word) => hostile.includes(word)));
  expect(words).toEqual([]);
}

function withComponents(names: readonly string[]): Recipe {
  const { recipe } = sampleLock({ components: [], settings: {}, packages: [] });
  return {
    ...recipe,
    components: names.map((name, index) => ({ name: `c${index}`, from: { package: name } })),
  };
}

test('refuses a component whose package name is an option of apt, as text and as a stored operation', async () => {
  const components = hostile.map((name, index) => `  - {name: c${index}, from: {package: '${name}'}}\n`);
  const text = `name: node\ncomponents:\n${components.join('')}`;
  const reading = readRecipe({ file: 'imago.yaml', files: { read: async () => text } });
  await expect(reading).rejects.toMatchObject({ code: 'recipe-invalid' });
  const locking = builder().lock(withComponents(hostile) as never, quiet, call);
  await expect(locking).rejects.toMatchObject({ code: 'recipe-invalid' });
  await expectHarmless();
});

const base = { suite: 'trixie', mirror: 'http://127.0.0.1:1/debian' };
test.each([
  ['a suite with a line break', { ...base, suite: 'trixie\nTrusted: yes' }],
  ['a suite that starts with a dash', { ...base, suite: '-trixie' }],
  ['a mirror with a line break', { ...base, mirror: 'http://127.0.0.1:1/debian\nTrusted: yes' }],
  ['a mirror with a quote', { ...base, mirror: 'http://127.0.0.1:1/"; DPkg::Pre-Invoke {"true"}; //' }],
  ['a mirror that is a file', { ...base, mirror: 'file:///etc' }],
  ['a mirror with a password', { ...base, mirror: 'http://me:secret@127.0.0.1/debian' }],
  ['a security mirror with a line break', { ...base, securityMirror: 'http://127.0.0.1:1/s\nTrusted: yes' }],
])('refuses %s before apt is configured', async (_, given) => {
  const text = `name: node\nbase: ${JSON.stringify(given)}\n`;
  const reading = readRecipe({ file: 'imago.yaml', files: { read: async () => text } });
  await expect(reading).rejects.toMatchObject({ code: 'recipe-invalid' });
  const recipe = { ...withComponents([]), base: given };
  await expect(builder().lock(recipe as never, quiet, call)).rejects.toMatchObject({
    code: 'recipe-invalid',
  });
  expect(started).toEqual([]);
});

test.each(['package', 'version', 'source', 'suite'] as const)(
  'refuses a lock with a hostile %s',
  async (what) => {
    const { recipe } = sampleLock({ components: [], settings: {}, packages: [] });
    const input: LockedInput = {
      ...{ kind: 'package', name: 'curl', version: '8.14.1-2', sha256: '0'.repeat(64), sizeBytes: 1 },
      ...{ source: 'debian:pool/main/c/curl/curl_8.14.1-2_amd64.deb', sets: ['packages'], layer: 0 },
    };
    const good = makeLock(recipe, [input], { rules: buildRules, epoch: 0 });
    expect(readLockFile(writeLockFile(recipe, [good]), 'imago.lock').locks).toEqual([good]);
    const bad = structuredClone(good) as { -readonly [key in keyof Lock]: Lock[key] };
    const [first] = bad.inputs.filter(({ kind }) => kind === 'package');
    if (first === undefined) throw new Error('the sample has no package');
    if (what === 'suite') bad.recipe = { ...bad.recipe, base: { suite: 'trixie\nTrusted: yes' } };
    else {
      const name = what === 'package' ? hostile[0] : first.name;
      const version = what === 'version' ? '1.0\nPin-Priority: 9999' : first.version;
      const source = what === 'source' ? 'debian:../../etc/shadow' : first.source;
      bad.inputs = [
        ...bad.inputs.filter((one) => one !== first),
        { ...first, name: name ?? '', version, source },
      ];
    }
    const text = writeLockFile(bad.recipe, [bad]);
    expect(() => readLockFile(text, 'imago.lock')).toThrow(expect.objectContaining({ code: 'lock-invalid' }));
    const given = { lock: bad as never, lockDigest: lockDigest(bad) };
    await expect(builder().build(given, quiet, call)).rejects.toMatchObject({ code: 'lock-invalid' });
    const { tools } = builder();
    for (const using of [
      () => tools.hotfix(bad as never, ['containerd=1.0'], quiet, call),
      () => tools.outdated(bad as never, call),
      () => builder().lock(withComponents([]) as never, quiet, { ...call, previous: bad as never }),
    ]) {
      await expect(using()).rejects.toMatchObject({ code: 'lock-invalid' });
    }
    expect(started).toEqual([]);
  },
);

test('gives apt every operand behind a double dash', async () => {
  await builder()
    .lock(withComponents(['curl']) as never, quiet, call)
    .catch(() => undefined);
  const [update, ...rest] = started;
  expect(update?.slice(0, 2)).toEqual(['apt-get', 'update']);
  expect(rest.length).toBeGreaterThan(0);
  for (const [, , ...args] of rest) {
    const behind = args.slice(args.indexOf('--') + 1);
    expect(args).toContain('--');
    expect(behind.filter((word) => word.startsWith('-'))).toEqual([]);
  }
  await expect(readFile('/tmp/pwned')).rejects.toThrow();
});
