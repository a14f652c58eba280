import { expect, test } from 'vitest';
import type { Builder, BuilderTools, BuildPreview } from '../../ports/provider/builder.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import type { OperationDeps } from '../common/deps.ts';
import { buildInput } from './input.ts';
import { foreseeBuild, planBuild } from './plan.ts';

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

const input = (recipe: object = {}) => buildInput.parse({ recipe: { name: 'node', ...recipe } });
const onMachine = input({ method: 'machine', os: 'windows' });

test('a dry run tells layers, downloads and time', async () => {
  expect(await foreseeBuild(world(), input())).toEqual([
    'Lock recipe node.',
    'Nobody has to be asked for an input.',
    'Download 2 inputs, 3 MiB.',
    'Layer base: hit.',
    'Layer component kubelet: miss.',
    'Build the disk, in about 12 s (as long as such steps took here before).',
    'Write notes and SBOMs from the sealed disk, and sign it.',
    'Seal it as a candidate: node:1.0.0.',
  ]);
});

test('a number that the policy cannot give is reported by the dry run', async () => {
  const release = input({ numbering: 'kubernetes', kubernetes: '1.34.2' });
  expect((await foreseeBuild(world(), release)).at(-1)).toBe('Seal it as a candidate: node:1.34.2.');
  const lines = await foreseeBuild(world({ used: ['1.34.2'] }), release);
  expect(lines.at(-1)).toMatch(/^As things are, it would fail: 1\.34\.2 is already used/);
});

test('what must be asked for first is named, and so is what would fail', async () => {
  const told = {
    unresolved: ['packages', 'kubelet'],
    problems: ['kubectl comes from a file that is not there.'],
    downloads: { count: 0, bytes: 0 },
    estimate: { ms: 90_000, fromHistory: false },
  };
  const lines = await foreseeBuild(world({ told }), input());
  expect(lines).toContain('Resolve packages, kubelet; what follows takes it that they changed.');
  expect(lines).toContain('This would fail: kubectl comes from a file that is not there.');
  expect(lines).toContain('Download nothing, and what is resolved anew.');
  expect(lines).toContain('Build the disk, in about 1 min 30 s (in part a guess).');
});

test('what may fail is told beside what would', async () => {
  const told = { problems: ['The disk is too small.'], warnings: ['The disk may be too small.'] };
  expect((await foreseeBuild(world({ told }), input())).slice(2, 4)).toEqual([
    'This would fail: The disk is too small.',
    'The disk may be too small.',
  ]);
});

test('a version of the same lock is given back: nothing else is told', async () => {
  expect(await foreseeBuild(world({ known: '1.2.3' }), input())).toEqual([
    'Lock recipe node.',
    'Nothing more: node:1.2.3 is of this lock already.',
  ]);
});

test('with the newest of everything nothing is known to be there', async () => {
  const newest = buildInput.parse({ recipe: { name: 'node' }, newest: true });
  const lines = await foreseeBuild(world({ known: '1.2.3' }), newest);
  expect(lines).toContain('Resolve the newest of every input; what follows takes it that they changed.');
});

test('a hotfix is to be proven', async () => {
  const hotfix = { from: 'node:1.0.0', lockDigest: 'sha256:2', set: ['kubelet=1.34.3'] };
  const lines = await foreseeBuild(world({ told: {} }), buildInput.parse({ hotfix }));
  expect(lines).toContain('Prove that nothing else moved, or fail.');
});

test('what is built on a machine is refused before it starts, without a word about trying again', async () => {
  await expect(planBuild(world(), onMachine)).rejects.toThrow(
    expect.objectContaining({
      code: 'provider-lacks',
      message: 'node is built on a machine, and provider local only assembles disks.',
      hint: 'No provider at hand builds it. The recipe can be checked, shown and locked.',
    }),
  );
});

test('a provider at hand that builds so is named; one that only makes disks up is not', async () => {
  const sim = provider('sim', { methods: ['assemble', 'machine'] });
  const able = provider('azure', { methods: ['machine'], tools: {} as unknown as BuilderTools });
  await expect(planBuild(world({ others: [sim] }), onMachine)).rejects.toThrow(
    expect.objectContaining({ hint: expect.stringContaining('No provider at hand') }),
  );
  await expect(planBuild(world({ others: [sim, able] }), onMachine)).rejects.toThrow(
    expect.objectContaining({ hint: 'Name one that does: --provider azure.' }),
  );
});

test('a real build of a simulated image is refused before it starts', async () => {
  await expect(planBuild(world({ simulated: true }), input())).rejects.toMatchObject({
    code: 'simulation-mixed',
    message: 'The new version is real, and image node is simulated.',
  });
});
