// A release from recipe to production, on a real store and the simulated cloud: passed over when nothing changed,
// waiting for people, overtaken, killed at every step.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ChannelPolicy, Policy } from '../../src/domain/policy/policy.ts';
import type { Json } from '../../src/domain/value/json.ts';
import { operationKinds } from '../../src/operations/kinds.ts';
import { resolveImage } from '../../src/operations/resolve/resolve.ts';
import type { OperationKind, OperationRecord } from '../../src/ports/workflow/operation.ts';
import { createProduct, type Product } from '../support/product.ts';
import { patience } from '../support/speed.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';
import { until } from '../support/until.ts';

let bench: StoreBench;
let product: Product;

beforeAll(async () => {
  bench = await startStoreBench();
});
afterAll(() => bench.stop());
beforeEach(async () => {
  product = await createProduct(await bench.freshStore());
});
afterEach(() => product.close());

function recipe(runc: string, more: object = {}) {
  return { name: 'node', numbering: 'semver', components: [{ name: 'runc', version: runc }], ...more };
}

function release(runc: string, more: object = {}): Promise<OperationRecord> {
  const input = { recipe: recipe(runc), why: 'weekly', waitMs: 60_000, ...more };
  return product.run({ kind: 'release', subject: 'release/node', input });
}

async function setPolicy(production: ChannelPolicy): Promise<void> {
  const policy: Policy = { version: 1, channels: { production } };
  const text = JSON.stringify(policy);
  await product.store.promotion.setPolicy({ policy, text, digest: text, by: 'root', why: 'test' });
}

async function channels(): Promise<Record<string, string | undefined>> {
  const all = await product.store.catalogue.listChannels('node');
  return Object.fromEntries(all.map(({ name, version }) => [name, version]));
}

async function approve(by: string, number = '1.0.0'): Promise<void> {
  const version = await product.store.catalogue.getVersion('node', number);
  await product.store.catalogue.addEvidence({
    ...{ digest: version?.digest ?? '', kind: 'approval', passed: true, by, summary: 'approved' },
    details: { channel: 'production', role: 'publisher' },
  });
}

test('from recipe to production: built, tested, published, promoted, with the time of each step', async () => {
  const operation = await release('1.1.14');
  expect(operation).toMatchObject({
    state: 'succeeded',
    result: { version: '1.0.0', changed: true, channels: ['staging', 'production'] },
  });
  expect(await channels()).toEqual({ staging: '1.0.0', production: '1.0.0', latest: '1.0.0' });
  const { times, totalMs } = operation.result as unknown as {
    times: readonly { step: string; state: string; ms: number | null }[];
    totalMs: number;
  };
  expect(times.map(({ step }) => step)).toEqual([
    ...['build/lock', 'build/build', 'build/number', 'build/records', 'build/sign', 'build/seal'],
    'resolve',
    ...times.map(({ step }) => step).filter((step) => step.startsWith('test/')),
    ...['publish', 'gates-staging'],
    ...['resolve', 'gates', 'copies', 'move', 'attest', 'latest'].map((step) => `promote-staging/${step}`),
    'gates-production',
    ...['resolve', 'gates', 'copies', 'move', 'attest', 'latest'].map((step) => `promote-production/${step}`),
  ]);
  expect(times.filter(({ step }) => step.startsWith('test/')).at(-1)?.step).toBe('test/verdict');
  expect(times.filter(({ ms, state }) => ms === null && state === 'done')).toEqual([]);
  expect(totalMs).toBeGreaterThan(0);
  expect(product.sim.world.view().machines).toEqual([]);
});

test('rule 11: with nothing changed it ends without building, testing or moving anything', async () => {
  await release('1.1.14');
  const before = await product.store.catalogue.listMoves('node', undefined, { limit: 20 });
  const again = await release('1.1.14');
  expect(again).toMatchObject({ state: 'succeeded', result: { changed: false, channels: [] } });
  const skipped = again.steps.filter(({ state }) => state === 'skipped').map(({ name }) => name);
  expect(skipped).toEqual(['test', 'publish', 'promote-staging', 'promote-production']);
  expect(await product.store.catalogue.listMoves('node', undefined, { limit: 20 })).toEqual(before);
});

test('a version that fails its tests reaches no channel but staging, and not even that', async () => {
  const operation = await release('1.1.14', {
    recipe: recipe('1.1.14', { settings: { sim: { breaks: 'agent' } } }),
  });
  expect(operation).toMatchObject({ state: 'failed', error: { code: 'test-failed' } });
  expect(await channels()).toEqual({ staging: undefined, production: undefined, latest: undefined });
});

describe('gates', () => {
  test('it waits for approvals, across deaths, and goes on when the last one comes', async () => {
    await setPolicy({ approvals: { count: 2, role: 'publisher' } });
    const deaths = new Set(['step do:gates-production', 'step look:gates-production']);
    product.atPoint = ({ name, moment }) =>
      moment === 'after-record' && deaths.delete(name) ? 'die' : undefined;
    const running = release('1.1.14');
    await until('staging has moved', async () => (await channels()).staging === '1.0.0');
    expect((await channels()).production).toBeUndefined();
    // Although the step died twice, it is reported one time.
    const needed = async () =>
      (await product.store.events.list({ after: 0, limit: 1000 })).filter(
        ({ type }) => type === 'approval.needed',
      );
    await until('someone is asked', async () => (await needed()).length > 0);
    await approve('ann');
    await approve('bob');
    await product.wake();
    expect(await running).toMatchObject({
      state: 'succeeded',
      result: { channels: ['staging', 'production'] },
    });
    expect(deaths.size).toBe(0);
    expect(await needed()).toMatchObject([
      { subject: 'image/node', data: { channel: 'production', version: '1.0.0' } },
    ]);
    expect((await channels()).production).toBe('1.0.0');
  });

  test('time alone opens them: it looks again when they do', async () => {
    await setPolicy({ age: { atLeastMs: 1000 } });
    expect(await release('1.1.14')).toMatchObject({ state: 'succeeded' });
    expect((await channels()).production).toBe('1.0.0');
  });

  test('it does not wait for what neither time nor people can open', async () => {
    await setPolicy({ size: { atMostBytes: 1 } });
    expect(await release('1.1.14')).toMatchObject({ state: 'failed', error: { code: 'gate-closed' } });
    expect(await channels()).toMatchObject({ staging: '1.0.0', production: undefined });
  });

  test('its patience ends, and staging keeps what it has', async () => {
    await setPolicy({ approvals: { count: 1, role: 'publisher' } });
    const operation = await release('1.1.14', { waitMs: 0 });
    expect(operation).toMatchObject({ state: 'failed', error: { code: 'operation-wait-timeout' } });
    expect(await channels()).toMatchObject({ staging: '1.0.0', production: undefined });
  });

  test('overtaken by something newer while it waits, it ends and moves nothing', async () => {
    await setPolicy({ approvals: { count: 1, role: 'publisher' } });
    const running = release('1.1.14');
    await until('staging has moved', async () => (await channels()).staging === '1.0.0');
    const input = { recipe: recipe('1.1.15') };
    await product.run({ kind: 'build', subject: 'image/node', input });
    await product.run({
      ...{ kind: 'promote', subject: 'image/node' },
      input: { reference: 'node:1.0.1', channel: 'staging', why: 'newer' },
    });
    await approve('ann');
    await product.wake();
    expect(await running).toMatchObject({ state: 'failed', error: { code: 'release-superseded' } });
    expect((await channels()).production).toBeUndefined();
  });
});

describe('a matrix', () => {
  const variant = (kubernetes: string) => ({ recipe: recipe('1.1.14', { kubernetes }) });
  const matrix = (...kubernetes: string[]) =>
    product.run({
      ...{ kind: 'release-matrix', subject: 'release/node' },
      input: { image: 'node', variants: kubernetes.map(variant), why: 'weekly', waitMs: 60_000 },
    });

  test('is one release: every minor version has its channels, and the highest the plain ones', async () => {
    const operation = await matrix('1.34.2', '1.33.5', '1.34.3');
    expect(operation).toMatchObject({
      state: 'succeeded',
      result: { versions: [{ version: '1.0.0' }, { version: '1.0.1' }, { version: '1.0.2' }], changed: true },
    });
    expect(await channels()).toEqual({
      ...{ staging: '1.0.2', production: '1.0.2', latest: '1.0.2' },
      ...{ 'staging-1-33': '1.0.1', 'production-1-33': '1.0.1' },
      ...{ 'staging-1-34': '1.0.2', 'production-1-34': '1.0.2' },
    });
    const deps = {
      catalogue: product.store.catalogue,
      providers: [product.sim],
      options: { signal: AbortSignal.timeout(patience(60_000)), epoch: 0 },
      now: Date.now,
    };
    const ask = (kubernetes: string) => resolveImage(deps, { reference: 'node:production', kubernetes });
    expect(await ask('1.33')).toMatchObject({ version: '1.0.1', channel: 'production-1-33' });
    expect(await ask('1.34.3')).toMatchObject({ version: '1.0.2', channel: 'production' });
    await expect(ask('1.34.2')).rejects.toMatchObject({ code: 'kubernetes-not-found' });
    await expect(ask('1.32')).rejects.toMatchObject({ code: 'kubernetes-not-found' });
    const { times } = operation.result as unknown as { times: readonly { step: string }[] };
    expect(times.map(({ step }) => step)).toEqual(
      expect.arrayContaining(['release-1.33.5/build/lock', 'promote-production-1-33/move']),
    );
    const again = await matrix('1.34.2', '1.33.5', '1.34.3');
    expect(again).toMatchObject({ state: 'succeeded', result: { changed: false, channels: [] } });
  });

  test('is released again, and prune keeps a version of each patch release that the recipe lists', async () => {
    const weekly = (runc: string, ...kubernetes: string[]) => ({
      ...{ image: 'node', why: 'weekly', waitMs: 60_000 },
      variants: kubernetes.map((one) => ({
        recipe: recipe(runc, { kubernetes: one, numbering: 'kubernetes-build' }),
      })),
    });
    const run = (input: object) =>
      product.run({ kind: 'release-matrix', subject: 'release/node', input: { ...input } });
    const prune = async () => {
      const { result } = await product.run({ kind: 'prune', subject: 'catalogue', input: {} });
      return (result as { deleted: readonly string[] }).deleted;
    };
    const released = (...versions: string[]) => ({
      state: 'succeeded',
      result: { versions: versions.map((version) => ({ version })) },
    });
    expect(await run(weekly('1.1.14', '1.34.2', '1.34.3'))).toMatchObject(released('1.34.2000', '1.34.3000'));
    expect(await run(weekly('1.1.15', '1.34.2', '1.34.3'))).toMatchObject(released('1.34.2001', '1.34.3001'));
    expect(await prune()).toEqual(['node:1.34.2000']);
    expect(await run(weekly('1.1.16', '1.34.3'))).toMatchObject(released('1.34.3002'));
    expect(await prune()).toEqual(['node:1.34.3000', 'node:1.34.2001']);
  });

  test('goes through the gates of the plain channel, in its own line', async () => {
    await setPolicy({ age: { in: 'staging', atLeastMs: 500 }, size: { atMostBytes: 1 } });
    const refused = await matrix('1.33.5', '1.34.3');
    expect(refused).toMatchObject({ state: 'failed', error: { code: 'gate-closed' } });
    expect(await channels()).toMatchObject({ 'staging-1-33': '1.0.0', 'production-1-33': undefined });
    await setPolicy({ age: { in: 'staging', atLeastMs: 500 } });
    expect(await matrix('1.33.5', '1.34.3')).toMatchObject({ state: 'succeeded' });
    expect(await channels()).toMatchObject({ 'production-1-33': '1.0.0', production: '1.0.1' });
  });

  test('of which one version fails its tests moves no channel', async () => {
    const broken = recipe('1.1.14', { kubernetes: '1.34.3', settings: { sim: { breaks: 'agent' } } });
    const operation = await product.run({
      ...{ kind: 'release-matrix', subject: 'release/node' },
      input: { image: 'node', variants: [variant('1.33.5'), { recipe: broken }], why: 'weekly' },
    });
    expect(operation).toMatchObject({ state: 'failed', error: { code: 'test-failed' } });
    expect(await channels()).toMatchObject({ staging: undefined, production: undefined });
  });
});

describe('only when something is newer', () => {
  const look = (runc: string, more: object = {}) =>
    product.run({
      ...{ kind: 'release-newer', subject: 'release-newer/node' },
      input: {
        ...{ kind: 'release', subject: 'release/node' },
        input: { recipe: recipe(runc), why: 'newer', waitMs: 60_000, ...more },
      },
    });
  const ended = async (operation: OperationRecord) => {
    const { release: id } = operation.result as unknown as { release: string };
    return product.deps.desk().ended(id, AbortSignal.timeout(patience(60_000)));
  };

  test('it begins a release once, and nothing when the same is found again', async () => {
    const first = await look('1.1.14');
    expect(first).toMatchObject({ state: 'succeeded', result: { newer: true } });
    expect(await ended(first)).toMatchObject({ state: 'succeeded', result: { version: '1.0.0' } });
    expect(await look('1.1.14')).toMatchObject({
      state: 'succeeded',
      result: { newer: false, release: null },
    });
    expect((await product.store.catalogue.listMoves('node', 'staging', { limit: 9 })).items).toHaveLength(1);
  });

  test('what is newer overtakes a release that waits for people, across deaths', async () => {
    await setPolicy({ approvals: { count: 1, role: 'publisher' } });
    const waiting = await look('1.1.14');
    await until('staging has moved', async () => (await channels()).staging === '1.0.0');
    const deaths = new Set(['before-body', 'after-body', 'after-record']);
    product.atPoint = ({ name, moment }) =>
      name === 'step do:start' && deaths.delete(moment) ? 'die' : undefined;
    const newer = await look('1.1.15');
    expect(newer).toMatchObject({ result: { newer: true } });
    await until('staging has moved', async () => (await channels()).staging === '1.0.1');
    await product.wake();
    expect(await ended(waiting)).toMatchObject({ state: 'failed', error: { code: 'release-superseded' } });
    await approve('ann', '1.0.1');
    await product.wake();
    expect(await ended(newer)).toMatchObject({
      state: 'succeeded',
      result: { channels: ['staging', 'production'] },
    });
    expect((await channels()).production).toBe('1.0.1');
  });
});

test('killed around every step, it ends as if nothing had been', async () => {
  const points = new Set<string>();
  product.atPoint = ({ name, moment }) => {
    const point = `${name} ${moment}`;
    if (!name.startsWith('step do:') || points.has(point)) return undefined;
    points.add(point);
    return 'die';
  };
  expect(await release('1.1.14')).toMatchObject({ state: 'succeeded', exceptions: [] });
  expect(points.size).toBeGreaterThan(40);
  expect(await channels()).toEqual({ staging: '1.0.0', production: '1.0.0', latest: '1.0.0' });
  const moves = await product.store.catalogue.listMoves('node', undefined, { limit: 20 });
  expect(moves.items).toHaveLength(3);
  expect(product.sim.world.view().machines).toEqual([]);
});

describe('a dry run', () => {
  const foresee = async (kind: 'release' | 'release-matrix' | 'release-newer', input: object) => {
    const found = operationKinds(product.deps).get(kind) as OperationKind<unknown> | undefined;
    return (await found?.plan(found.parse(input as Json), { by: 'ann' }, true)) ?? [];
  };
  const input = (runc: string) => ({ recipe: recipe(runc), why: 'weekly' });
  const steps = (lines: readonly string[]) => [...new Set(lines.map((line) => line.replace(/: .*$/, '')))];

  test('names each step that the release then has, and writes nothing', async () => {
    await setPolicy({ approvals: { count: 0, role: 'publisher' } });
    const lines = await foresee('release', input('1.1.14'));
    expect(await product.store.catalogue.getImage('node')).toBeUndefined();
    expect(product.sim.world.view().versions).toEqual([]);
    const { result } = await release('1.1.14');
    const { times } = result as unknown as { times: readonly { step: string }[] };
    const then = new Set(times.map(({ step }) => step.replace(/^build\//, '').replace(/\/.*$/, '')));
    expect(steps(lines)).toEqual([...then].filter((step) => steps(lines).includes(step)));
    expect(steps(lines)).toEqual([
      ...['lock', 'build', 'test', 'publish'],
      ...['gates-staging', 'promote-staging', 'gates-production', 'promote-production'],
    ]);
  });

  test('tells that each is passed over when the release would pass it over', async () => {
    await release('1.1.14');
    const lines = await foresee('release', input('1.1.14'));
    expect(lines.slice(1)).toEqual([
      'build: Nothing more: node:1.0.0 has this lock.',
      'test: Skipped: node:1.0.0 is available.',
      'publish: Skipped: the gallery of sim has it.',
      'gates-staging: Skipped: node:staging points at it.',
      'gates-production: Skipped: node:production points at it.',
    ]);
    expect(await release('1.1.14')).toMatchObject({ result: { changed: false } });
  });

  test('tells what a release waits for, and a matrix the channels that it makes', async () => {
    await setPolicy({ approvals: { count: 1, role: 'publisher' }, age: { atLeastMs: 3_600_000 } });
    await release('1.1.14', { channels: ['staging'] });
    const lines = await foresee('release', input('1.1.14'));
    expect(lines).toContain('gates-production: ✗ approvals: needs 1 of role publisher, not ann; 0');
    expect(lines.find((line) => line.startsWith('gates-production: ✗ age: '))).toMatch(/; opens at /);
    expect(lines).toContainEqual(expect.stringMatching(/^gates-production: It would wait until /));
    const variants = ['1.33.5', '1.34.2'].map((kubernetes) => ({ recipe: recipe('1.1.14', { kubernetes }) }));
    const asked = { image: 'node', variants, why: 'weekly' };
    const matrix = await foresee('release-matrix', asked);
    expect(matrix).toContain(
      'channels: Create staging-1-33, staging-1-34, production-1-33, production-1-34.',
    );
    expect(matrix).toContain('Kubernetes 1.33.5: build: Seal it as a candidate: node:1.0.1.');
    expect(matrix).toContain('promote-staging: Move node:staging from 1.0.0 to the new version.');
    expect(matrix).toContain(
      'gates-production-1-33: ? age: needs 1 h in staging-1-33; counted from its move to staging-1-33',
    );
    const newer = { kind: 'release-matrix', subject: 'release/node', input: asked };
    expect(await foresee('release-newer', newer)).toEqual([
      'look: Look up the newest version of every input, and end if a version was built from exactly these.',
      ...matrix,
    ]);
    expect((await channels())['staging-1-33']).toBeUndefined();
  });
});

test('bad input: a channel that is named twice, an empty reason', async () => {
  const twice = release('1.1.14', { channels: ['staging', 'staging'] });
  await expect(twice).rejects.toMatchObject({ code: 'input-invalid' });
  await expect(release('1.1.14', { why: '' })).rejects.toMatchObject({ code: 'input-invalid' });
});
