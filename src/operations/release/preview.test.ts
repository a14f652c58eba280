// What a dry run of a release tells, and that it tells what the release would then do.

import { expect, test } from 'vitest';
import type { ChannelRecord } from '../../domain/channel/channel.ts';
import type { Evidence } from '../../domain/evidence/evidence.ts';
import type { VersionRecord } from '../../domain/image/version.ts';
import type { ChannelPolicy } from '../../domain/policy/policy.ts';
import type { Recipe } from '../../domain/recipe/recipe.ts';
import type { BuildPreview } from '../../ports/provider/builder.ts';
import type { OperationDeps } from '../common/deps.ts';
import { release } from './operations.ts';

const now = Date.parse('2026-11-16T08:00:00.000Z');

const known: VersionRecord = {
  ...{ image: 'node', version: '1.0.1', digest: 'sha256:1', diskDigest: 'sha256:d', sizeBytes: 2 ** 30 },
  ...{ state: 'available', origin: { kind: 'built', lockDigest: 'sha256:lock' }, operation: 'op' },
  createdAt: '2026-11-15T08:00:00.000Z',
  simulated: true,
};
const test1: Evidence = {
  ...{ id: 1, digest: 'sha256:1', kind: 'test', passed: true, summary: '9 checks', details: {}, by: 'imago' },
  at: '2026-11-15T09:00:00.000Z',
};

function channel(name: string, more: Partial<ChannelRecord> = {}): ChannelRecord {
  const position = name === 'staging' ? 1 : 2;
  return {
    image: 'node',
    name,
    forTesting: name === 'staging',
    managed: false,
    position,
    public: false,
    simulated: true,
    ...more,
  };
}

interface World {
  readonly known?: VersionRecord;
  readonly evidence?: readonly Evidence[];
  readonly channels?: readonly ChannelRecord[];
  readonly production?: ChannelPolicy;
  readonly published?: boolean;
  readonly forecast?: BuildPreview;
  readonly others?: readonly VersionRecord[];
  readonly oldLock?: object;
  readonly publicGallery?: boolean;
}

function world(facts: World = {}): OperationDeps {
  const { channels = [], others = [], forecast, production } = facts;
  const tools = forecast && { preview: async () => forecast };
  const gallery = {
    getVersion: async () => (facts.published ? { state: 'ready' } : undefined),
    getImage: async () => undefined,
    limits: async () => [],
  };
  const provider = {
    name: 'sim',
    abilities: { simulated: true, regions: [], excludeFromLatest: true },
    machines: {},
    gallery,
    builder: { methods: ['assemble'], knownLock: () => ({}), ...(tools && { tools }) },
  };
  const policy = production && { id: 1, digest: 'p', policy: { version: 1, channels: { production } } };
  const opened = { name: 'public', provider: 'sim', channels: ['production'], regions: [], public: true };
  return {
    provider: () => provider,
    providers: () => [provider],
    clock: { now: () => now },
    epoch: 0,
    sha256: (text: string) => text,
    catalogue: {
      findVersionByLock: async () => facts.known,
      listChannels: async () => channels,
      getChannel: async (_: string, name: string) => channels.find((one) => one.name === name),
      getImage: async () => ({ numbering: 'semver', simulated: true }),
      usedNumbers: async () => [],
      getVersion: async (_: string, number: string) =>
        [known, ...others].find(({ version }) => version === number),
      listVersions: async () => ({ items: others }),
      listEvidence: async () => facts.evidence ?? [],
      listMoves: async () => ({ items: [] }),
    },
    fleet: {
      listFollowers: async (_: string, name: string) => (name === 'production' ? [{ name: 'web' }] : []),
    },
    promotion: { getPolicy: async () => policy, getComposed: async () => undefined },
    galleryBook: { list: async () => (facts.publicGallery ? [opened] : []) },
    images: { locks: { read: async () => facts.oldLock } },
  } as unknown as OperationDeps;
}

const recipe = { name: 'node', components: [{ name: 'runc', version: '1.1.16' }] };

async function preview(deps: OperationDeps, more: object = {}): Promise<readonly string[]> {
  const kind = release.open(deps);
  const input = kind.parse({ recipe, why: 'weekly', ...more });
  await kind.plan(input, { by: 'ann' });
  return kind.plan(input, { by: 'ann' }, true);
}

function of(lines: readonly string[], step: string): readonly string[] {
  return lines.filter((line) => line.startsWith(`${step}: `)).map((line) => line.slice(step.length + 2));
}

test('a first release lists every step, in order, into the channels that the image will have', async () => {
  expect(await preview(world())).toEqual([
    'lock: Lock recipe node.',
    'build: Build the disk, layer by layer.',
    'build: Seal it as a candidate: node:1.0.0.',
    'test: Start it on fresh machines, two concurrently, by direct.',
    'test: Run the built-in checks, and store the evidence.',
    'publish: Copy it to the gallery of sim.',
    'gates-staging: It has no gates.',
    'promote-staging: Move node:staging from nothing to the new version.',
    'gates-production: ? tested: needs a passed test of this digest, in state available; its test decides',
    'promote-production: Move node:production from nothing to the new version.',
    'promote-production: Create new nodes of pool web from it; existing nodes stay.',
  ]);
});

test('a channel that a new image will not have is refused before anything is built', async () => {
  await expect(preview(world(), { channels: ['canary'] })).rejects.toMatchObject({
    code: 'channel-not-found',
  });
});

test('if nothing changed, each step is listed as skipped, with the reason', async () => {
  const channels = [
    channel('staging', { version: '1.0.1' }),
    channel('production', { version: '1.0.1', managed: false }),
  ];
  expect(await preview(world({ known, channels, published: true }))).toEqual([
    'lock: Lock recipe node.',
    'build: Nothing more: node:1.0.1 has this lock.',
    'test: Skipped: node:1.0.1 is available.',
    'publish: Skipped: the gallery of sim has it.',
    'gates-staging: Skipped: node:staging points at it.',
    'gates-production: Skipped: node:production points at it.',
  ]);
});

test('changes of the lock are listed against the previous version, with the cached layers', async () => {
  const lock = (version: string) => ({
    ...{ format: 1 as const, rules: 1, epoch: 0, recipe: recipe as unknown as Recipe },
    inputs: [
      { kind: 'binary' as const, name: 'runc', version, sha256: version, sizeBytes: 1, source: 'file:runc' },
    ],
  });
  const forecast: BuildPreview = {
    ...{ lockDigest: 'sha256:2', lock: lock('1.1.16'), unresolved: [], problems: [] },
    layers: [
      { name: 'base', state: 'hit' },
      { name: 'component runc', state: 'miss' },
    ],
    downloads: { count: 1, bytes: 2 ** 20 },
    estimate: { ms: 9000, fromHistory: true },
  };
  const deps = world({ forecast, others: [known], oldLock: lock('1.1.15') });
  const lines = await preview(deps, { channels: [] });
  expect(of(lines, 'lock')).toEqual([
    'Lock recipe node.',
    'All inputs are resolved.',
    'Against node:1.0.1: runc 1.1.15 → 1.1.16.',
  ]);
  expect(of(lines, 'build').slice(0, 3)).toEqual([
    'Download 1 input, 1 MiB.',
    'Layer base: hit.',
    'Layer component runc: miss.',
  ]);
});

const strict: ChannelPolicy = {
  age: { atLeastMs: 86_400_000 },
  scan: { noneAbove: 'medium' },
  budgets: { growth: 0.1 },
  size: { atMostBytes: 2 ** 20 },
  approvals: { count: 2, role: 'publisher' },
};

test('gates of a new version: required approvals are listed, and what decides the rest', async () => {
  const channels = [channel('staging'), channel('production')];
  expect(of(await preview(world({ channels, production: strict })), 'gates-production')).toEqual([
    expect.stringMatching(/^\? tested: .*; its test decides$/),
    '? age: needs 1 d in staging; counted from its move to staging',
    expect.stringMatching(/^\? scan: .*; the release waits for a report, which decides$/),
    expect.stringMatching(/^\? budgets: .*; its test decides$/),
    '? size: needs at most 1 MiB; its build decides',
    '✗ approvals: needs 2 of role publisher, not ann; 0',
    'It would wait for people, for at most 3 d.',
  ]);
});

test('gates of a version that exists have their value, and a closed one that nothing opens is reported as the end', async () => {
  const channels = [channel('staging', { version: '1.0.1' }), channel('production')];
  const { age: _, ...production } = strict;
  const deps = world({ known, channels, production, evidence: [test1] });
  const gates = of(await preview(deps), 'gates-production');
  expect(gates[0]).toMatch(/^✓ tested: .*; available; 9 checks/);
  expect(gates[1]).toMatch(/^✗ scan: /);
  expect(gates).toContain('✗ size: needs at most 1 MiB; 1 GiB');
  expect(gates.at(-1)).toBe('As things are, it would fail: closed scan, size, approvals.');
});

test('without staging on its way, an age there cannot begin', async () => {
  const channels = [channel('staging'), channel('production')];
  const deps = world({ channels, production: { age: { atLeastMs: 86_400_000 } } });
  const gates = of(await preview(deps, { channels: ['production'] }), 'gates-production');
  expect(gates).toContain('✗ age: needs 1 d in staging; it never was in staging');
  expect(gates.at(-1)).toBe('As things are, it would fail: closed age.');
});

test('a freeze says until when it would wait, or that it would give up before', async () => {
  const channels = [channel('staging'), channel('production')];
  const dates = { kind: 'dated', from: '2026-11-16', to: '2026-11-17' } as const;
  const freeze = [{ ...dates, timeZone: 'UTC', why: 'fair' }];
  const deps = world({ channels, production: { freeze } });
  const last = async (waitMs: number) => of(await preview(deps, { waitMs }), 'gates-production').at(-1);
  expect(await last(86_400_000)).toBe('It would wait until 2026-11-17T00:00:00.000Z.');
  expect(await last(3_600_000)).toBe(
    'It would give up after 1 h: the last gate opens at 2026-11-17T00:00:00.000Z.',
  );
});

test('something newer in the channel, or a public gallery for private inputs, is reported where it would fail', async () => {
  const newer = { ...known, version: '1.0.2', createdAt: '2026-11-16T07:00:00.000Z' };
  const channels = [channel('staging', { version: '1.0.2' }), channel('production')];
  const overtaken = await preview(world({ known, channels, others: [newer] }));
  expect(of(overtaken, 'gates-staging')).toContain(
    'As things are, it would fail: node:1.0.2 came after 1.0.1 and is ahead of it.',
  );
  const seen = of(await preview(world({ publicGallery: true, channels })), 'promote-production');
  expect(seen.slice(1, 3)).toEqual([
    'Copy it to gallery public first.',
    'Then offer it as latest in gallery public.',
  ]);
  const hidden = { ...recipe, components: [{ ...recipe.components[0], private: true }] };
  const lines = await preview(world({ publicGallery: true }), { recipe: hidden });
  expect(of(lines, 'promote-production')).toContain(
    'As things are, it would fail: node:new has private inputs, and gallery public is public.',
  );
});
