// Scenario 4 of the research on kamino (section 5.1) at every call: the process dies, or the operation is cancelled,
// before and after each call of a capture, a rollout, and a rollback to the provider and to the cluster. After each one
// the invariants hold: nodes as they were (I1), nothing left (I2), the model changed by a success only (I3), true
// records (I5), and the same end as without the death (I6).
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { OperationRecord } from '../../src/ports/workflow/operation.ts';
import { type CaptureBench, captureBench, workload } from '../support/captures.ts';
import { type CallPoint, createProduct, type Product } from '../support/product.ts';
import { patience } from '../support/speed.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

let stores: StoreBench;
let product: Product;
let bench: CaptureBench;

beforeAll(async () => {
  stores = await startStoreBench();
});
afterAll(() => stores.stop());
beforeEach(async () => {
  product = await createProduct(await stores.freshStore());
});
afterEach(() => product.close());

const isSoak = process.env.IMAGO_SOAK !== undefined;
/** The first time that a call is made, and with `--soak` the next ones: calls that poll are alike. */
const occurrences = isSoak ? 3 : 1;

type Boundary = CallPoint & { readonly at: number };

/** The boundaries that the operation passes, found by running it once. */
async function boundariesOf(run: () => Promise<OperationRecord>): Promise<readonly Boundary[]> {
  const counts = new Map<string, number>();
  product.atCall = ({ call, moment }) => {
    if (moment === 'before') counts.set(call, (counts.get(call) ?? 0) + 1);
    return undefined;
  };
  await run();
  product.atCall = () => undefined;
  return [...counts].flatMap(([call, count]) =>
    Array.from({ length: Math.min(count, occurrences) }, (_, at) => at + 1).flatMap((at) =>
      (['before', 'after'] as const).map((moment) => ({ call, moment, at })),
    ),
  );
}

/** Dies once, there. Returns whether the boundary was reached. */
function dieAt({ call, moment, at }: Boundary): () => boolean {
  let count = 0;
  product.atCall = (point) =>
    point.call === call && point.moment === moment && ++count === at ? 'die' : undefined;
  return () => count >= at;
}

const named = ({ call, moment, at }: Boundary) => `${moment} call ${at} of ${call}`;

function nothingLeft(boundary: Boundary): void {
  const { snapshots, machines } = product.sim.world.view();
  expect([snapshots, machines], named(boundary)).toEqual([[], []]);
}

test('a capture that dies at a call ends as one that does not', { timeout: patience(300_000) }, async () => {
  bench = await captureBench(product);
  await workload(product, 6);
  const boundaries = await boundariesOf(() => bench.capture());
  expect(boundaries.map(({ call }) => call)).toEqual(
    expect.arrayContaining(['pools.stopNode', 'disks.createSnapshot', 'cluster.cordon', 'cluster.drain']),
  );
  for (const boundary of boundaries) {
    const before = await bench.nodes();
    const wasReached = dieAt(boundary);
    const operation = await bench.capture();
    expect(wasReached(), named(boundary)).toBe(true);
    expect(operation, named(boundary)).toMatchObject({ state: 'succeeded', exceptions: [] });
    expect(await bench.nodes(), named(boundary)).toEqual(before);
    nothingLeft(boundary);
    const { image, version } = operation.result as { image: string; version: string };
    expect(bench.model(), named(boundary)).toBe(`${image}:${version}`);
  }
});

test('a capture that is cancelled at a call leaves all as it was', {
  timeout: patience(300_000),
}, async () => {
  bench = await captureBench(product);
  await workload(product, 6);
  const boundaries = await boundariesOf(() => bench.capture());
  for (const boundary of boundaries) {
    const [before, model] = [await bench.nodes(), bench.model()];
    dieAt(boundary);
    product.cancelAtDeath = true;
    const operation = await bench.capture();
    product.cancelAtDeath = false;
    expect(operation, named(boundary)).toMatchObject({ exceptions: [] });
    expect(await bench.nodes(), named(boundary)).toEqual(before);
    nothingLeft(boundary);
    if (operation.state === 'cancelled') expect(bench.model(), named(boundary)).toBe(model);
    else expect(operation.state, named(boundary)).toBe('succeeded');
  }
});

function versions(): string {
  return [...new Set(product.sim.world.view().nodes.map(({ version }) => version))].join(' ');
}

/** The cluster as people see it: what Imago does to nodes while it moves them is gone. */
async function servingNodes(): Promise<string> {
  const { items } = await product.world.apiAs('kubectl').list('nodes');
  const all = items.map(({ metadata: { annotations = {} }, spec }) =>
    JSON.stringify([annotations, spec?.unschedulable === true]),
  );
  return `${all.length} ${[...new Set(all)].join(' ')}`;
}

function roll(version: string, more: object = {}): Promise<OperationRecord> {
  const settings = { bake: '0s', waves: [], maxUnavailable: '100%' };
  const input = { name: 'web', reference: `node:${version}`, ...settings, ...more };
  return product.run({ kind: 'rollout', subject: 'pool/web', input });
}

test('a rollout that dies at a call ends as one that does not', { timeout: patience(300_000) }, async () => {
  bench = await captureBench(product, 3);
  await bench.release('1.7.25');
  const boundaries = await boundariesOf(() => roll('1.0.1'));
  expect(boundaries.map(({ call }) => call)).toEqual(
    expect.arrayContaining(['pools.upgradeNode', 'pools.setModel', 'cluster.cordon', 'cluster.uncordon']),
  );
  for (const [index, boundary] of boundaries.entries()) {
    const target = index % 2 === 0 ? '1.0.0' : '1.0.1';
    dieAt(boundary);
    expect(await roll(target), named(boundary)).toMatchObject({ state: 'succeeded', exceptions: [] });
    expect([versions(), bench.model()], named(boundary)).toEqual([target, `node:${target}`]);
    expect(await servingNodes(), named(boundary)).toBe('3 [{},false]');
    nothingLeft(boundary);
  }
});

test('a rollback that dies at a call ends as one that does not', { timeout: patience(300_000) }, async () => {
  bench = await captureBench(product, 3);
  const recipe = {
    name: 'node',
    numbering: 'semver',
    components: [{ name: 'containerd', version: '1.7.26' }],
  };
  const input = { recipe: { ...recipe, settings: { sim: { breaks: 'agent' } } } };
  await bench.succeed('build', 'image/node', input);
  const boundaries = await boundariesOf(() => roll('1.0.1', { retryBad: true }));
  for (const boundary of boundaries) {
    dieAt(boundary);
    const operation = await roll('1.0.1', { retryBad: true });
    expect(operation, named(boundary)).toMatchObject({
      ...{ state: 'failed', error: { code: 'rollout-rolled-back' }, exceptions: [] },
    });
    expect([versions(), bench.model()], named(boundary)).toEqual(['1.0.0', 'node:1.0.0']);
    expect(await servingNodes(), named(boundary)).toBe('3 [{},false]');
  }
});
