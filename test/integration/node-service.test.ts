// Everything that takes a node away drains it first, and returns it as it was: on the simulated provider and cluster,
// also if processes die, operators interfere, and budgets block.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { ImagoError } from '../../src/domain/error/imago-error.ts';
import { reconcile } from '../../src/operations/reconcile/reconcile.ts';
import type { KubeApi } from '../../src/ports/kube/api.ts';
import type { OperationRecord } from '../../src/ports/workflow/operation.ts';
import { createProduct, type Product } from '../support/product.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;
let product: Product;
let kubectl: KubeApi;

beforeAll(async () => {
  bench = await startStoreBench();
});
afterAll(() => bench.stop());

beforeEach(async () => {
  product = await createProduct(await bench.freshStore());
  kubectl = product.world.apiAs('kubectl');
  for (const containerd of ['1.7.24', '1.7.25']) {
    const recipe = {
      name: 'node',
      numbering: 'semver',
      components: [{ name: 'containerd', version: containerd }],
    };
    await succeed('build', 'image/node', { recipe });
  }
  for (const version of ['1.0.0', '1.0.1']) {
    await succeed('test', `image/node:${version}`, { reference: `node:${version}` });
  }
  await succeed('pool-create', 'pool/web', { name: 'web', reference: 'node:1.0.0', capacity: 3 });
});
afterEach(() => product.close());

async function succeed(
  kind: string,
  subject: string,
  input: OperationRecord['input'],
): Promise<OperationRecord> {
  const operation = await product.run({ kind, subject, input });
  expect(operation).toMatchObject({ state: 'succeeded', exceptions: [] });
  return operation;
}

function on(kind: string, more: object = {}): Promise<OperationRecord> {
  return product.run({ kind, subject: 'pool/web', input: { pool: 'web', node: 'web-000001', ...more } });
}

async function addWorkload(replicas: number, minAvailable?: number): Promise<void> {
  const labels = { app: 'web' };
  await nodes();
  await kubectl.create('replicasets', {
    metadata: { name: 'web', namespace: 'default' },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels } } },
  } as never);
  if (minAvailable === undefined) return;
  await kubectl.create('poddisruptionbudgets', {
    metadata: { name: 'web', namespace: 'default' },
    spec: { minAvailable, selector: { matchLabels: labels } },
  });
  await expect
    .poll(async () => (await kubectl.list('poddisruptionbudgets')).items[0]?.status?.currentHealthy)
    .toBe(replicas);
}

/** What operators see of each node. */
async function nodes() {
  const { items } = await kubectl.list('nodes');
  return items.map(({ metadata: { name, annotations = {} }, spec }) => ({
    ...{ name, unschedulable: spec?.unschedulable === true },
    annotations: Object.keys(annotations).filter((key) => !key.startsWith('node.')),
  }));
}

const untouched = ['web-000000', 'web-000001', 'web-000002'].map((name) => ({
  ...{ name, unschedulable: false, annotations: [] },
}));

async function podsOn(node: string): Promise<number> {
  return (await kubectl.list('pods', { fieldSelector: `spec.nodeName=${node}` })).items.length;
}

describe('a restart', () => {
  test('drains the node, and returns it as it was', async () => {
    await addWorkload(6, 5);
    let isEmpty: boolean | undefined;
    product.atPoint = ({ name, moment }) => {
      if (name === 'step do:stop' && moment === 'before-body')
        void podsOn('web-000001').then((n) => (isEmpty = n === 0));
      return undefined;
    };
    expect(await on('node-restart')).toMatchObject({ state: 'succeeded', exceptions: [] });
    expect(isEmpty).toBe(true);
    expect(await nodes()).toEqual(untouched);
  });

  test('that a budget blocks changes nothing, and names the budget', async () => {
    await addWorkload(3, 3);
    const before = await product.look();
    const operation = await on('node-restart', { drainTimeout: '60s' });
    expect(operation).toMatchObject({
      ...{ state: 'failed', exceptions: [] },
      error: { code: 'drain-timeout', message: expect.stringContaining('The disruption budget web needs 3') },
    });
    expect(await nodes()).toEqual(untouched);
    expect(await product.look()).toEqual(before);
  });

  test('leaves the cordon and the annotations of others', async () => {
    await nodes();
    const key = 'cluster-autoscaler.kubernetes.io/scale-down-disabled';
    const others = { metadata: { annotations: { [key]: 'true' } }, spec: { unschedulable: true } };
    await kubectl.patch('nodes', { name: 'web-000001' }, others);
    expect(await on('node-restart')).toMatchObject({ state: 'succeeded' });
    expect((await nodes())[1]).toEqual({ name: 'web-000001', unschedulable: true, annotations: [key] });
  });

  test('is refused while kured reboots the node', async () => {
    await nodes();
    const annotations = { 'weave.works/kured-reboot-in-progress': '2026-11-18T00:00:00Z' };
    await kubectl.patch('nodes', { name: 'web-000001' }, { metadata: { annotations } });
    expect(await on('node-restart')).toMatchObject({ error: { code: 'drain-blocked' }, exceptions: [] });
  });

  test.each(['drain', 'stop', 'start', 'return'])(
    'survives a process that dies around step %s',
    async (step) => {
      await addWorkload(3);
      const left = new Set(['before-body', 'after-body', 'after-record']);
      product.atPoint = ({ name, moment }) =>
        name === `step do:${step}` && left.delete(moment) ? 'die' : undefined;
      expect(await on('node-restart')).toMatchObject({ state: 'succeeded', exceptions: [] });
      expect(left.size).toBe(0);
      expect(await nodes()).toEqual(untouched);
      expect(product.sim.world.view().nodes.map(({ power }) => power)).toEqual(Array(3).fill('running'));
    },
  );

  test.each(['drain', 'stop', 'start', 'return'])(
    'cancelled around step %s leaves everything as it was',
    async (step) => {
      await addWorkload(3);
      const before = await product.look();
      product.cancelAtDeath = true;
      let deaths = 0;
      product.atPoint = ({ name, moment }) =>
        name === `step do:${step}` && moment === 'after-body' && deaths++ === 0 ? 'die' : undefined;
      await on('node-restart');
      expect(await nodes()).toEqual(untouched);
      expect(await product.look()).toEqual(before);
    },
  );
});

test('node delete and node replace drain the node first', async () => {
  await addWorkload(6, 5);
  const machines = () => product.sim.world.view().nodes.map(({ name, machineId }) => `${name} ${machineId}`);
  const before = machines();
  expect(await on('node-replace')).toMatchObject({ state: 'succeeded', exceptions: [] });
  expect(await nodes()).toEqual(untouched);
  expect(await on('node-delete')).toMatchObject({ state: 'succeeded', exceptions: [] });
  expect(machines()).toEqual([before[0], before[2]]);
  expect(product.sim.world.view().pools).toMatchObject([{ capacity: 2 }]);
});

describe('scale-in', () => {
  const scale = (more: object = {}) =>
    product.run({ kind: 'pool-scale', subject: 'pool/web', input: { name: 'web', capacity: 1, ...more } });

  test('drains the nodes that go, and keeps the pods running', async () => {
    await addWorkload(3, 2);
    expect(await scale()).toMatchObject({ state: 'succeeded', exceptions: [] });
    expect(await nodes()).toEqual(untouched.slice(0, 1));
    expect(await podsOn('web-000000')).toBe(3);
  });

  test('that a budget blocks returns every node', async () => {
    await addWorkload(3, 3);
    expect(await scale({ drainTimeout: '60s' })).toMatchObject({
      ...{ error: { code: 'drain-timeout' }, exceptions: [] },
    });
    expect(await nodes()).toEqual(untouched);
    expect(product.sim.world.view().pools).toMatchObject([{ capacity: 3 }]);
  });
});

test('a pool with a pod that nothing creates again is not deleted, unless its pods need no drain', async () => {
  await nodes();
  await kubectl.create('pods', {
    metadata: { name: 'bare', namespace: 'default' },
    spec: { nodeName: 'web-000002' },
  });
  const remove = (more: object = {}) =>
    product.run({ kind: 'pool-delete', subject: 'pool/web', input: { name: 'web', ...more } });
  expect(await remove()).toMatchObject({ error: { code: 'drain-blocked' }, exceptions: [] });
  expect(await nodes()).toEqual(untouched);
  expect(await remove({ noDrain: true })).toMatchObject({ state: 'succeeded' });
});

describe('a rollout', () => {
  const roll = (more: object = {}) => {
    const input = { name: 'web', reference: 'node:1.0.1', bake: '0s', ...more };
    return product.run({ kind: 'rollout', subject: 'pool/web', input });
  };
  const versions = () => product.sim.world.view().nodes.map(({ version }) => version);

  test('drains each node, and never breaks a budget', async () => {
    await addWorkload(6, 5);
    let fewest = Number.POSITIVE_INFINITY;
    const watch = setInterval(async () => {
      const [budget] = (await kubectl.list('poddisruptionbudgets')).items;
      fewest = Math.min(fewest, budget?.status?.currentHealthy ?? 0);
    }, 1);
    expect(await roll()).toMatchObject({ state: 'succeeded', exceptions: [] });
    clearInterval(watch);
    expect(versions()).toEqual(['1.0.1', '1.0.1', '1.0.1']);
    expect(await nodes()).toEqual(untouched);
    expect(fewest).toBeGreaterThanOrEqual(5);
  });

  test('undone in an outage does not wait for budgets', async () => {
    expect(await roll()).toMatchObject({ state: 'succeeded' });
    await addWorkload(3, 3);
    const input = { name: 'web', undo: true, now: true };
    expect(await product.run({ kind: 'rollout', subject: 'pool/web', input })).toMatchObject({
      state: 'succeeded',
    });
    expect(versions()).toEqual(['1.0.0', '1.0.0', '1.0.0']);
  });

  test('goes on if an operator cordons, uncordons, and deletes nodes in the middle', async () => {
    await addWorkload(3);
    let turn = 0;
    product.atPoint = ({ name, moment }) => {
      if (name !== 'step do:move' || moment !== 'before-body') return undefined;
      turn += 1;
      const spec = turn === 1 ? { unschedulable: true } : { unschedulable: null };
      void kubectl.patch('nodes', { name: 'web-000000' }, { spec });
      if (turn === 2) {
        const options = { signal: new AbortController().signal, epoch: 0 };
        void product.sim.pools.deleteNode('web', 'web-000002', options);
      }
      return undefined;
    };
    expect(await roll()).toMatchObject({ state: 'succeeded', exceptions: [] });
    expect(versions().every((version) => version === '1.0.1')).toBe(true);
    const left = (await nodes()).filter(({ name }) => name !== 'web-000000');
    expect(left.every(({ unschedulable, annotations }) => !unschedulable && annotations.length === 0)).toBe(
      true,
    );
  });

  test('waits for an API server that is away, and goes on', async () => {
    await addWorkload(3, 2);
    const { clusterOf } = product.deps;
    let refusals = 12;
    Object.assign(product.deps, {
      clusterOf: async (pool: { readonly cluster?: string }) => {
        const cluster = await clusterOf(pool);
        const away = async () => {
          throw new ImagoError('cluster-unreachable', 'The API server does not respond.', {
            retryable: true,
          });
        };
        if (cluster === undefined || refusals-- <= 0 || refusals > 9) return cluster;
        return { ...cluster, node: away, cordon: away, uncordon: away };
      },
    });
    expect(await roll()).toMatchObject({ state: 'succeeded', exceptions: [] });
    expect(refusals).toBeLessThan(0);
    expect(versions()).toEqual(['1.0.1', '1.0.1', '1.0.1']);
    expect(await nodes()).toEqual(untouched);
  });

  test.each(['plan', 'begin', 'model', 'canaries', 'wave-1', 'wave-2', 'rest', 'back-model', 'report'])(
    'cancelled around step %s leaves no node out of service, and a model that nodes have',
    async (step) => {
      await addWorkload(3, 2);
      product.cancelAtDeath = true;
      let deaths = 0;
      product.atPoint = ({ name, moment }) =>
        name.endsWith(`:${step}`) && moment === 'after-body' && deaths++ === 0 ? 'die' : undefined;
      const { state, exceptions } = await roll();
      expect(deaths).toBeGreaterThan(0);
      expect([state === 'cancelled' || state === 'succeeded', exceptions]).toEqual([true, []]);
      expect(await nodes()).toEqual(untouched);
      const [pool] = product.sim.world.view().pools;
      expect(pool?.model.version).toBe(state === 'cancelled' ? '1.0.0' : '1.0.1');
    },
  );

  test.each(['before-body', 'after-body', 'after-record'])(
    'survives a process that dies %s while each node moves',
    async (moment) => {
      await addWorkload(3, 2);
      const seen = new Set<string>();
      product.atPoint = ({ run, name, moment: at }) => {
        if (name !== 'step do:move' || at !== moment || seen.has(run)) return undefined;
        seen.add(run);
        return 'die';
      };
      expect(await roll()).toMatchObject({ state: 'succeeded', exceptions: [] });
      expect(seen.size).toBe(3);
      expect(versions()).toEqual(['1.0.1', '1.0.1', '1.0.1']);
      expect(await nodes()).toEqual(untouched);
    },
  );
});

describe('reconcile', () => {
  const pass = () => reconcile({ ...product.deps, now: Date.now }, AbortSignal.timeout(60_000));

  test('returns a node that an ended operation left cordoned and stopped, and no other', async () => {
    const cluster = product.world.cluster;
    await nodes();
    await cluster.cordon('web-000001', 'ended-long-ago');
    await kubectl.patch('nodes', { name: 'web-000002' }, { spec: { unschedulable: true } });
    const options = { signal: AbortSignal.timeout(60_000), epoch: 0 };
    await product.sim.pools.stopNode('web', 'web-000001', options);
    const power = () => product.sim.world.view().nodes[1]?.power;
    await expect.poll(power).toBe('stopped');
    expect(await pass()).toMatchObject({ restoredNodes: [], problems: [] });
    await expect.poll(power).toBe('running');
    await expect.poll(async () => (await pass()).restoredNodes).toEqual(['web-000001']);
    expect((await nodes()).map(({ unschedulable }) => unschedulable)).toEqual([false, false, true]);
    expect((await nodes())[1]).toEqual(untouched[1]);
  });

  test('keeps a node cordoned that is not ready, and says so', async () => {
    await nodes();
    await product.world.cluster.cordon('web-000001', 'ended-long-ago');
    const { clusterOf } = product.deps;
    Object.assign(product.deps, {
      clusterOf: async (pool: { readonly cluster?: string }) => {
        const cluster = await clusterOf(pool);
        const notReady = async () => (await cluster?.nodes())?.map((node) => ({ ...node, status: {} }));
        return cluster && { ...cluster, nodes: notReady };
      },
    });
    const message = expect.stringContaining('operation ended-long-ago');
    const problems = [{ kind: 'node-not-returned', subject: 'node/web-000001', message }];
    expect(await pass()).toMatchObject({ restoredNodes: [], problems });
    expect((await nodes())[1]).toMatchObject({ unschedulable: true });
  });

  test('leaves a node alone whose operation runs', async () => {
    await addWorkload(3, 3);
    let report: Awaited<ReturnType<typeof pass>> | undefined;
    product.atPoint = ({ name, moment }) =>
      name === 'step do:drain' && moment === 'after-body' && report === undefined ? 'die' : undefined;
    product.atDeath = async () => {
      report = await pass();
    };
    await on('node-restart', { drainTimeout: '60s' });
    expect(report).toMatchObject({ restoredNodes: [] });
    expect(await nodes()).toEqual(untouched);
  });
});
