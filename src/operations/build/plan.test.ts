import { expect, test } from 'vitest';
import type { Json } from '../../domain/value/json.ts';
import type { Builder, BuilderTools, BuildPreview } from '../../ports/provider/builder.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import type { OperationDeps } from '../common/deps.ts';
import { build } from './operations.ts';

const forecast: BuildPreview = {
  lockDigest: 'sha256:1',
  unresolved: [],
  problems: [],
  layers: [
    { name: 'base', state: 'hit' },
    { name: 'component kubelet', state: 'miss' },
  ],
  downloads: { count: 2, bytes: 3 * 2 ** 20 },
  estimate: { ms: 12_000, fromHistory: true },
};

interface World {
  readonly told?: Partial<BuildPreview>;
  readonly others?: readonly Provider[];
  readonly known?: string;
  readonly used?: readonly string[];
  /** The mark of the image that exists. */
  readonly simulated?: true;
}

function provider(name: string, builder: Partial<Builder>): Provider {
  return { name, builder, abilities: { simulated: name === 'sim' } } as unknown as Provider;
}

function world({ told = {}, others = [], known, used = [], simulated }: World = {}): OperationDeps {
  const tools = { preview: async () => ({ ...forecast, ...told }), previewHotfix: async () => forecast };
  const local = provider('local', { methods: ['assemble'], tools: tools as unknown as BuilderTools });
  return {
    provider: () => local,
    providers: () => [local, ...others],
    epoch: 0,
    clock: { now: () => 0 },
    catalogue: {
      findVersionByLock: async () => (known === undefined ? undefined : { version: known }),
      getImage: async () => simulated && { name: 'node', simulated },
      listVersions: async () => ({ items: [{}] }),
      usedNumbers: async () => used,
    },
    images: { locks: { read: async () => ({}) } },
  } as unknown as OperationDeps;
}

const input = (recipe: object = {}) => ({ recipe: { name: 'node', ...recipe } });

function plan(deps: OperationDeps, asked: object, preview = false): Promise<readonly string[]> {
  const kind = build.open(deps);
  return kind.plan(kind.parse(asked as Json), { by: 'ann' }, preview);
}

const previewOf = (deps: OperationDeps, asked: object) => plan(deps, asked, true);
const onMachine = input({ method: 'machine', os: 'windows' });

test('shows layers, downloads and time in a dry run', async () => {
  expect(await previewOf(world(), input())).toEqual([
    'Lock recipe node.',
    'All inputs are resolved.',
    'Download 2 inputs, 3 MiB.',
    'Layer base: hit.',
    'Layer component kubelet: miss.',
    'Build the disk, in about 12 s (as long as such steps took before).',
    'Write notes and SBOMs from the sealed disk, and sign it.',
    'Seal it as a candidate: node:1.0.0.',
  ]);
});

test('reports a number that the policy cannot assign', async () => {
  const release = input({ numbering: 'kubernetes', kubernetes: '1.34.2' });
  expect((await previewOf(world(), release)).at(-1)).toBe('Seal it as a candidate: node:1.34.2.');
  const lines = await previewOf(world({ used: ['1.34.2'] }), release);
  expect(lines.at(-1)).toMatch(/^As things are, it would fail: 1\.34\.2 is already used/);
});

test('names what must be resolved first, and what would fail', async () => {
  const told = {
    unresolved: ['packages', 'kubelet'],
    problems: ['kubectl comes from a file that is not there.'],
    downloads: { count: 0, bytes: 0 },
    estimate: { ms: 90_000, fromHistory: false },
  };
  const lines = await previewOf(world({ told }), input());
  expect(lines).toContain('Resolve packages, kubelet; the rest assumes that they changed.');
  expect(lines).toContain('This would fail: kubectl comes from a file that is not there.');
  expect(lines).toContain('Download nothing, and what is resolved again.');
  expect(lines).toContain('Build the disk, in about 1 min 30 s (partly a guess).');
});

test('shows warnings after problems', async () => {
  const told = { problems: ['The disk is too small.'], warnings: ['The disk may be too small.'] };
  expect((await previewOf(world({ told }), input())).slice(2, 4)).toEqual([
    'This would fail: The disk is too small.',
    'The disk may be too small.',
  ]);
});

test('shows only the existing version if the lock is the same', async () => {
  expect(await previewOf(world({ known: '1.2.3' }), input())).toEqual([
    'Lock recipe node.',
    'Nothing more: node:1.2.3 has this lock.',
  ]);
});

test('assumes that everything changed with `newest`', async () => {
  const newest = { recipe: { name: 'node' }, newest: true };
  const lines = await previewOf(world({ known: '1.2.3' }), newest);
  expect(lines).toContain('Resolve the newest version of every input; the rest assumes that they changed.');
});

test('includes the proof of a hotfix', async () => {
  const hotfix = { from: 'node:1.0.0', lockDigest: 'sha256:2', set: ['kubelet=1.34.3'] };
  const lines = await previewOf(world({ told: {} }), { hotfix });
  expect(lines).toContain('Prove that nothing else changed, or fail.');
});

test('refuses a machine build before it starts if the provider only assembles', async () => {
  await expect(plan(world(), onMachine)).rejects.toThrow(
    expect.objectContaining({
      code: 'provider-lacks',
      message: 'node is built on a machine, and provider local only assembles disks.',
      hint: 'No available provider builds it. The recipe can be checked, shown and locked.',
    }),
  );
});

test('refuses a Windows recipe before it starts if the provider has no Windows machines', async () => {
  const methods = ['assemble', 'machine'] as const;
  const deps = { ...world(), provider: () => provider('local', { methods }) };
  await expect(plan(deps, onMachine)).rejects.toMatchObject({
    code: 'provider-lacks',
    message: 'node is built on Windows, and provider local has no Windows machines.',
  });
});

test('names an available provider with the method, but not a simulated one', async () => {
  const sim = provider('sim', { methods: ['assemble', 'machine'] });
  const able = provider('azure', { methods: ['machine'], tools: {} as unknown as BuilderTools });
  await expect(plan(world({ others: [sim] }), onMachine)).rejects.toThrow(
    expect.objectContaining({ hint: expect.stringContaining('No available provider') }),
  );
  await expect(plan(world({ others: [sim, able] }), onMachine)).rejects.toThrow(
    expect.objectContaining({ hint: 'Name one that does: --provider azure.' }),
  );
});

test('refuses a real build of a simulated image before it starts', async () => {
  await expect(plan(world({ simulated: true }), input())).rejects.toMatchObject({
    code: 'simulation-mixed',
    message: 'The new version is real, and image node is simulated.',
  });
});
