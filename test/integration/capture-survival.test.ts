// A capture survives crashes, cancels, lost replies, calls that lie, and other people: the scenarios of the research on
// kamino (section 5.1), each with the invariants that hold after every one. I1: a node is as it was, or an exception says
// what it is not. I2: nothing is left behind. I3: the model changes only by a success. I4: no untested version is used.
// I5: the record is true. I6: running it again converges.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { reconcile } from '../../src/operations/reconcile/reconcile.ts';
import type { OperationRecord } from '../../src/ports/workflow/operation.ts';
import { type CaptureBench, captureBench, podsOn, workload } from '../support/captures.ts';
import { createProduct, type Product } from '../support/product.ts';
import { patience } from '../support/speed.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

const moments = ['before-body', 'after-body', 'after-record'] as const;
const donorSteps = ['protect', 'cordon', 'drain', 'stop', 'snapshot', 'start', 'ready', 'restore'];
const imageSteps = ['clean', 'drop-copy', 'number', 'seal', 'audit', 'test', 'publish', 'gates', 'set-image'];
const call = { signal: new AbortController().signal, epoch: 0 };

let stores: StoreBench;
let product: Product;
let bench: CaptureBench;
let before: unknown;

beforeAll(async () => {
  stores = await startStoreBench();
});
afterAll(() => stores.stop());
beforeEach(async () => {
  product = await createProduct(await stores.freshStore());
  bench = await captureBench(product);
  before = await bench.nodes();
});
afterEach(() => product.close());

/** Invariants I1 to I6 after a capture that succeeded. */
async function succeeded(operation: OperationRecord): Promise<void> {
  expect(operation).toMatchObject({ state: 'succeeded', exceptions: [] });
  expect(await bench.nodes()).toEqual(before);
  expect(product.sim.world.view()).toMatchObject({ snapshots: [], machines: [] });
  const { image, version } = operation.result as { image: string; version: string };
  expect(bench.model()).toBe(`${image}:${version}`);
  const { items } = await product.store.catalogue.listVersions(image, { limit: 10 });
  expect(items.map((one) => [one.version, one.state])).toEqual([[version, 'available']]);
}

/** The process dies once at each moment of the step. */
function dieAround(step: string): Set<string> {
  const left = new Set<string>(moments);
  product.atPoint = ({ name, moment }) =>
    name === `step do:${step}` && left.delete(moment) ? 'die' : undefined;
  return left;
}

describe('scenario 4: a process that dies at a step boundary changes nothing about the end', () => {
  test.each([...donorSteps, ...imageSteps])('killed around step %s', async (step) => {
    const left = dieAround(step);
    await succeeded(await bench.capture());
    expect(left.size).toBe(0);
  });
});

describe('scenario 4: a capture that is cancelled at a step boundary leaves everything as it was', () => {
  test.each([...donorSteps, ...imageSteps.slice(0, 5)])('cancelled before step %s', async (step) => {
    let deaths = 0;
    product.cancelAtDeath = true;
    product.atPoint = ({ name, moment }) =>
      name === `step do:${step}` && moment === 'before-body' && deaths++ === 0 ? 'die' : undefined;
    const operation = await bench.capture();
    expect(operation.state).toBe('cancelled');
    await bench.untouched(before, operation);
    product.cancelAtDeath = false;
    await succeeded(await bench.capture());
  });
});

/** Calls of the provider that change something. */
const writes = [
  'pools.protectNode',
  'pools.stopNode',
  'disks.createSnapshot',
  'pools.startNode',
  'disks.deleteSnapshot',
  'pools.setModel',
];

describe('scenario 5: a call that succeeds and whose reply is lost is adopted', () => {
  test.each([...writes, 'disks.sealSnapshot'])('%s', async (method) => {
    await product.sim.control.addFault({ call: method, kind: 'reply-lost' });
    await succeeded(await bench.capture());
  });
});

describe('scenario 6: what is read decides, whatever the call said', () => {
  const lies = ['fails-but-took-effect', 'succeeds-but-did-nothing'] as const;
  test.each(lies.flatMap((kind) => writes.map((method) => [method, kind] as const)))(
    '%s %s',
    async (method, kind) => {
      await product.sim.control.addFault({ call: method, kind });
      await succeeded(await bench.capture());
    },
  );
});

describe('scenario 7: calls that fail for a while are repeated', () => {
  test.each([...writes, 'disks.sealSnapshot'])('%s', async (method) => {
    await product.sim.control.addFault({ call: method, kind: 'throttled', ms: 30_000, count: 2 });
    await succeeded(await bench.capture());
  });
});

/** The node that a capture takes, found by a dry run of its rules. */
function firstDonor(): string {
  return product.sim.world.view().nodes[0]?.name ?? '';
}

function kubectl() {
  return product.world.apiAs('kubectl');
}

describe('scenario 2: what other people decide about a donor stays', () => {
  test('a node that is cordoned already is refused, and stays cordoned with its annotations', async () => {
    const node = firstDonor();
    const annotations = { 'cluster-autoscaler.kubernetes.io/scale-down-disabled': 'true' };
    const patch = { metadata: { annotations }, spec: { unschedulable: true } };
    await kubectl().patch('nodes', { name: node }, patch);
    before = await bench.nodes();
    const operation = await bench.capture({ node });
    expect(operation).toMatchObject({ error: { message: expect.stringContaining('schedulable: cordoned') } });
    await bench.untouched(before, operation);
  });

  test('a node that someone cordons during its capture stays cordoned', async () => {
    const node = firstDonor();
    await dieOnce('snapshot', async () => {
      for (const unschedulable of [null, true])
        await kubectl().patch('nodes', { name: node }, { spec: { unschedulable } });
    });
    expect(await bench.capture({ node })).toMatchObject({ state: 'succeeded', exceptions: [] });
    expect((await kubectl().get('nodes', { name: node }))?.spec?.unschedulable).toBe(true);
  });
});

/** Something happens while no process lives, before the step. */
async function dieOnce(step: string, meanwhile: () => Promise<unknown>): Promise<void> {
  let deaths = 0;
  product.atPoint = ({ name, moment }) =>
    name === `step do:${step}` && moment === 'before-body' && deaths++ === 0 ? 'die' : undefined;
  product.atDeath = async () => void (await meanwhile());
}

describe('scenario 3: bad input is refused before anything is written', () => {
  async function refused(input: object, code: string, text: string): Promise<void> {
    before = await bench.nodes();
    const operation = await bench.capture(input);
    const message = expect.stringContaining(text);
    expect(operation).toMatchObject({ state: 'failed', error: { code, message } });
    expect(operation.steps.filter(({ state }) => state === 'done')).toEqual([]);
    await bench.untouched(before, operation);
  }

  test('a node that is not ready', async () => {
    const node = firstDonor();
    await product.sim.pools.stopNode('web', node, call);
    await refused({ node }, 'capture-refused', 'ready: not ready');
  });

  test('a node that does not exist', () => refused({ node: 'web-x' }, 'node-not-found', 'no node web-x'));

  test('a node of another pool whose name contains this one', async () => {
    const pool = { name: 'web-two', reference: 'node:1.0.0', capacity: 2 };
    await bench.succeed('pool-create', 'pool/web-two', pool);
    await refused({ node: 'web-two-000000' }, 'node-not-found', 'Pool web has no node');
  });

  test('a control plane', async () => {
    const node = firstDonor();
    const labels = { 'node-role.kubernetes.io/control-plane': '' };
    await kubectl().patch('nodes', { name: node }, { metadata: { labels } });
    await refused({ node }, 'capture-refused', 'worker: control plane');
  });

  test('a node that another user protects', async () => {
    const node = firstDonor();
    await product.sim.pools.protectNode('web', node, { fromScaleIn: true, fromPoolActions: false }, call);
    await refused({ node }, 'capture-refused', 'unprotected: protected by another user');
  });

  test('a node that opted out', async () => {
    const node = firstDonor();
    await kubectl().patch(
      'nodes',
      { name: node },
      { metadata: { annotations: { 'imago.dev/no-capture': '' } } },
    );
    await refused({ node }, 'capture-refused', 'opted-in: opted out');
  });

  test('a pool of one node, and a pool without nodes', async () => {
    await bench.succeed('pool-scale', 'pool/web', { name: 'web', capacity: 1 });
    await refused({}, 'capture-refused', 'not-last-in-pool: 0 others ready');
    await bench.succeed('pool-scale', 'pool/web', { name: 'web', capacity: 0 });
    await refused({}, 'capture-refused', 'Pool web has no nodes');
  });

  test('a node without newer patches, unless that is accepted', async () => {
    await refused({ unpatched: false }, 'capture-refused', 'patched: never');
    const annotations = { 'imago.dev/patched-at': '2099-01-01T00:00:00Z' };
    await kubectl().patch('nodes', { name: firstDonor() }, { metadata: { annotations } });
    before = await bench.nodes();
    await succeeded(await bench.capture({ unpatched: false }));
  });

  test('a pod that nothing would create again', async () => {
    const node = firstDonor();
    await kubectl().create('namespaces', { metadata: { name: 'default' } });
    const pod = { metadata: { name: 'bare', namespace: 'default' }, spec: { nodeName: node } };
    await kubectl().create('pods', pod);
    await refused({ node }, 'drain-blocked', 'default/bare');
  });

  test('a pool without a cluster, unless it is captured without a drain', async () => {
    product.deps.clusterOf = async () => undefined;
    await refused({}, 'capture-refused', 'does not belong to a cluster');
    await succeeded(await bench.capture({ noDrain: true }));
  });
});

describe('scenario 8: a budget', () => {
  test('that can never allow it refuses the capture, and the node is not touched', async () => {
    await workload(product, 6);
    await budget(6);
    before = await bench.nodes();
    const operation = await bench.capture();
    expect(operation).toMatchObject({ state: 'failed', error: { code: 'drain-blocked' } });
    await bench.untouched(before, operation);
  });

  test('that appears during the drain and stays ends the capture; the node was never stopped', async () => {
    await workload(product, 6);
    before = await bench.nodes();
    await dieOnce('drain', () => budget(6));
    const operation = await bench.capture({ drainTimeout: '1m' });
    expect(operation).toMatchObject({ state: 'failed', error: { code: 'drain-timeout' } });
    expect(operation.steps.find(({ name }) => name === 'stop')?.state).toBe('pending');
    await bench.untouched(before, operation);
  });
});

async function budget(minAvailable: number): Promise<void> {
  await kubectl().create('poddisruptionbudgets', {
    metadata: { name: 'web', namespace: 'default' },
    spec: { minAvailable, selector: { matchLabels: { app: 'web' } } },
  } as never);
}

test('scenario 10: a pod that arrives after the drain is found before the node is stopped', async () => {
  const node = firstDonor();
  await kubectl().create('namespaces', { metadata: { name: 'default' } });
  await dieOnce('stop', () =>
    kubectl().create('pods', {
      metadata: { name: 'late', namespace: 'default' },
      spec: { nodeName: node },
    }),
  );
  const operation = await bench.capture({ node, force: true });
  expect(operation).toMatchObject({ error: { message: expect.stringContaining('default/late') } });
  expect(await podsOn(product, node)).toHaveLength(1);
  await bench.untouched(before, operation);
});

test('scenario 11: a copy that cannot be cleaned is not published, and the donor is back', async () => {
  await product.sim.control.addFault({ call: 'disks.sealSnapshot', kind: 'fails', count: 'always' });
  const operation = await bench.capture();
  expect(operation.state).toBe('failed');
  await bench.untouched(before, operation);
  expect(await product.store.catalogue.getImage('web-prototype')).toBeUndefined();
});

test('scenario 13: a disk that is not stopped is not copied', async () => {
  const node = firstDonor();
  await dieOnce('snapshot', () => product.sim.pools.startNode('web', node, call));
  const operation = await bench.capture({ node });
  expect(operation).toMatchObject({ error: { message: expect.stringContaining('was started while') } });
  await bench.untouched(before, operation);
});

test('scenario 14: a copy that fails is made again, and after too many the node is started', async () => {
  await product.sim.control.addFault({ call: 'disks.createSnapshot', kind: 'fails-later', count: 2 });
  await succeeded(await bench.capture());
  await product.sim.control.addFault({ call: 'disks.createSnapshot', kind: 'fails-later', count: 'always' });
  const operation = await bench.capture();
  expect(operation).toMatchObject({ state: 'failed', exceptions: [] });
  expect(await bench.nodes()).toEqual(before);
  expect(product.sim.world.view().snapshots).toEqual([]);
});

test('scenario 15: a donor that does not come back stays cordoned, and people see it', async () => {
  const node = firstDonor();
  await product.sim.control.addFault({ call: 'pools.startNode', kind: 'fails', count: 'always' });
  const operation = await bench.capture({ node });
  expect(operation).toMatchObject({ state: 'failed' });
  expect(operation.exceptions.join()).toMatch(/stop.*stays cordoned/s);
  expect(await kubectl().get('nodes', { name: node })).toMatchObject({
    metadata: { annotations: { 'imago.dev/cordoned-by': operation.id } },
    spec: { unschedulable: true },
  });
  expect(bench.model()).toBe('node:1.0.0');
  expect(product.sim.world.view().snapshots).toEqual([]);
});

describe('scenario 16: someone deletes the donor', () => {
  test.each(['cordon', 'drain', 'stop', 'snapshot', 'start', 'ready', 'restore'])(
    'before step %s',
    async (step) => {
      const node = firstDonor();
      await dieOnce(step, () => product.sim.pools.deleteNode('web', node, call));
      const operation = await bench.capture({ node });
      expect(operation.exceptions).toEqual([]);
      expect(product.sim.world.view()).toMatchObject({ snapshots: [], machines: [] });
      const isUsed = operation.state === 'succeeded';
      expect(bench.model() === 'node:1.0.0').toBe(!isUsed);
      // Only the deletion itself lowers the capacity.
      expect(product.sim.world.view().pools[0]?.capacity).toBe(5);
    },
  );
});

test('I2: a copy that could not be deleted is deleted by the next reconciliation', async () => {
  const fault = await product.sim.control.addFault({
    ...{ call: 'disks.deleteSnapshot', kind: 'fails', count: 'always' },
  });
  const operation = await bench.capture();
  expect(operation.state).toBe('failed');
  expect(operation.exceptions.join()).toContain('snapshot');
  expect(product.sim.world.view().snapshots).toHaveLength(1);
  await product.sim.control.removeFault(fault.id);
  await reconcile({ ...product.deps, now: () => Date.now() }, AbortSignal.timeout(patience(20_000)));
  await expect.poll(() => product.sim.world.view().snapshots).toEqual([]);
  expect(await bench.nodes()).toEqual(before);
});

test('scenario 17: a gallery that refuses the version is not mistaken for a success', async () => {
  await product.sim.control.addFault({
    ...{ call: 'gallery.createVersion', name: 'web-prototype/*', kind: 'fails', count: 'always' },
  });
  const operation = await bench.capture();
  expect(operation.state).toBe('failed');
  await bench.untouched(before, operation);
});

test('scenario 18: a second capture of the pool waits for the first', async () => {
  const [first, second] = await Promise.all([bench.capture(), bench.capture()]);
  expect([first.state, second.state]).toEqual(['succeeded', 'succeeded']);
  const [a = '', b = ''] = [first, second].map(({ startedAt }) => startedAt);
  const ends = [first, second].map(({ endedAt = '' }) => endedAt);
  expect(a < b ? b >= (ends[0] ?? '') : a >= (ends[1] ?? '')).toBe(true);
  expect(await bench.nodes()).toEqual(before);
});

test('scenario 20: the copy of one node is never used for another', async () => {
  const [one, other] = product.sim.world.view().nodes;
  const first = await bench.capture({ node: one?.name });
  const second = await bench.capture({ node: other?.name });
  const digests = [first, second].map(({ result }) => (result as { digest: string }).digest);
  expect(new Set(digests).size).toBe(2);
});

test('scenario 22: the size that an autoscaler sets during a capture stays', async () => {
  await dieOnce('set-image', () => product.sim.pools.setCapacity('web', 8, {}, call));
  expect(await bench.capture()).toMatchObject({ state: 'succeeded', exceptions: [] });
  expect(product.sim.world.view().pools[0]?.capacity).toBe(8);
});

test('scenario 29: the time that the donor was away is in the result', async () => {
  const { result } = await bench.capture();
  expect((result as { awayMs: number }).awayMs).toBeGreaterThan(0);
});
