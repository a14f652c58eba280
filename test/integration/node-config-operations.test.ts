// The config of pools and nodes is changed while they run: what takes it, what waits, and that nothing stays of a
// change that failed, whatever dies or lies on the way.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { nodeConfigSet } from '../../src/operations/node-config/operations.ts';
import type { OperationRecord } from '../../src/ports/workflow/operation.ts';
import { createProduct, type Product } from '../support/product.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;
let product: Product;

const options = { signal: new AbortController().signal, epoch: 0 };
const token = 'abcdef.0123456789abcdef';
const certificate = `-----BEGIN CERTIFICATE-----\n${'QUJD'.repeat(16)}\n-----END CERTIFICATE-----\n`;
const cluster = {
  apiServer: 'https://api.example.com:6443',
  ca: certificate,
  bootstrap: { token: 'secret:join' },
};

function document(config: object): string {
  return JSON.stringify({ schemaVersion: 1, kubernetes: cluster, ...config });
}

const first = document({ system: { sysctl: { 'kernel.panic': 10 } } });
const second = document({ system: { sysctl: { 'kernel.panic': 20 } } });
const drains = document({ components: { kubelet: '1.34.2' } });
const needsMore = document({ requires: ['time-travel'] });

beforeAll(async () => {
  bench = await startStoreBench();
});
afterAll(() => bench.stop());

beforeEach(async () => {
  product = await createProduct(await bench.freshStore());
  product.secrets.set('join', `${token}\n`);
  const recipe = { name: 'node', numbering: 'semver', components: [] };
  const built = await product.run({ kind: 'build', subject: 'image/node', input: { recipe } });
  const { version } = built.result as { version: string };
  await product.run({ kind: 'test', subject: 'image/node', input: { reference: `node:${version}` } });
  const made = await product.run({
    kind: 'pool-create',
    subject: 'pool/web',
    input: { name: 'web', reference: `node:${version}`, capacity: 3, nodeConfig: first },
  });
  expect(made).toMatchObject({ state: 'succeeded' });
});
afterEach(() => product.close());

function set(input: Record<string, string | object>): Promise<OperationRecord> {
  return product.run({
    kind: 'node-config-set',
    subject: 'pool/web',
    input: { pool: 'web', ...input } as never,
  });
}

/** All that a change of config could touch. */
async function look(): Promise<unknown> {
  const { pools, nodes } = product.sim.world.view();
  const texts: Record<string, string> = {};
  for (const { name } of nodes) texts[name] = await product.sim.nodeConfigs.getUserData('web', name, options);
  return {
    models: pools.map(({ model }) => model),
    nodes: nodes.map(({ name, machineId, imagedAt, power, latestModelApplied }) => ({
      ...{ name, machineId, imagedAt, power, latestModelApplied },
    })),
    texts,
    record: (await product.store.fleet.getPool('web'))?.nodeConfig,
  };
}

async function sysctls(): Promise<readonly (string | undefined)[]> {
  const { texts } = (await look()) as { texts: Record<string, string> };
  return Object.values(texts).map((text) => /"kernel.panic":([0-9]+)/.exec(text)?.[1]);
}

describe('a config for a pool', () => {
  test('reaches every node and the model, in place', async () => {
    const operation = await set({ document: second });
    expect(operation).toMatchObject({
      state: 'succeeded',
      result: { pool: 'web', nodes: 3, applied: 3, waiting: 0 },
    });
    expect(await sysctls()).toEqual(['20', '20', '20']);
    const { pools, nodes } = product.sim.world.view();
    expect(pools[0]?.model.nodeConfig).toContain('"kernel.panic":20');
    expect(nodes.every(({ latestModelApplied }) => latestModelApplied)).toBe(true);
    expect((await product.store.fleet.getPool('web'))?.nodeConfig).toContain('"kernel.panic":20');
  });

  test('that needs a drain is with the nodes, which wait and say what for', async () => {
    const operation = await set({ document: drains });
    expect(operation).toMatchObject({ state: 'succeeded', result: { applied: 0, waiting: 3 } });
    const { waitingNodes } = operation.result as { waitingNodes: { for: string; pending: object[] }[] };
    expect(waitingNodes[0]).toMatchObject({ for: 'drain' });
    expect(waitingNodes[0]?.pending).toContainEqual(
      expect.objectContaining({ field: 'components.kubelet', cost: 'drain' }),
    );
  });

  test('that a node refuses is tried on one node only, and nothing stays of it', async () => {
    const before = await look();
    const asked: string[] = [];
    product.atPoint = ({ name, moment }) => {
      if (moment === 'before-body') asked.push(name);
      return undefined;
    };
    const operation = await set({ document: needsMore });
    expect(operation).toMatchObject({
      state: 'failed',
      error: { code: 'node-config-failed' },
      exceptions: [],
    });
    expect(operation.error?.message).toContain('time-travel');
    expect(asked).not.toContain('step do:send');
    expect(await look()).toEqual(before);
  });

  test('is read by a stopped node when it starts, and does not wait for it', async () => {
    const [node] = product.sim.world.view().nodes;
    await product.sim.pools.stopNode('web', node?.name ?? '', options);
    await expect.poll(() => product.sim.world.view().nodes[0]?.power).toBe('stopped');
    const operation = await set({ document: second });
    expect(operation).toMatchObject({ state: 'succeeded', result: { applied: 2, stopped: 1 } });
    expect(await sysctls()).toEqual(['20', '20', '20']);
  });
});

describe('an autoscaler', () => {
  test('that takes a node away meanwhile does not fail the others', async () => {
    product.atPoint = ({ name, moment }) => {
      if (name === 'step do:send' && moment === 'before-body') product.sim.world.setCapacityByOther('web', 2);
      return undefined;
    };
    const operation = await set({ document: second });
    expect(operation).toMatchObject({ state: 'succeeded', exceptions: [] });
    expect(product.sim.world.view().pools[0]?.capacity).toBe(2);
  });
});

describe('a config for one node', () => {
  test('leaves its pool and the others as they are', async () => {
    const before = (await look()) as { models: unknown; record: unknown };
    const node = product.sim.world.view().nodes[1]?.name ?? '';
    const operation = await set({ node, document: second });
    expect(operation).toMatchObject({ state: 'succeeded', result: { node, nodes: 1, applied: 1 } });
    expect(await sysctls()).toEqual(['10', '20', '10']);
    expect(await look()).toMatchObject({ models: before.models, record: before.record });
  });

  test('is put back when the config for its pool fails later', async () => {
    const node = product.sim.world.view().nodes[0]?.name ?? '';
    await set({ node, document: second });
    const before = await look();
    product.sim.faults.add({ call: 'pools.setModel', kind: 'fails', count: 'always' });
    const operation = await set({ document: document({ system: { sysctl: { 'kernel.panic': 30 } } }) });
    product.sim.faults.clear();
    expect(operation).toMatchObject({ state: 'failed', exceptions: [] });
    expect(await look()).toEqual(before);
  });

  test('survives a config and a hotfix for its pool, which reach it all the same', async () => {
    const node = product.sim.world.view().nodes[1]?.name ?? '';
    await set({ node, document: second });
    const fix = { component: 'runc', version: '1.4.3', source: 'https://files.example.com/runc' };
    const hotfix = { ...fix, sha256: 'a'.repeat(64), cost: 'live' };
    expect(await set({ hotfix })).toMatchObject({ state: 'succeeded', result: { applied: 3 } });
    expect(await sysctls()).toEqual(['10', '20', '10']);
    const sysctl = { 'kernel.panic': 30, 'vm.swappiness': 5 };
    expect(await set({ document: document({ system: { sysctl } }) })).toMatchObject({ state: 'succeeded' });
    expect(await sysctls()).toEqual(['30', '20', '30']);
    const { texts } = (await look()) as { texts: Record<string, string> };
    for (const text of Object.values(texts)) {
      expect(text).toContain('"vm.swappiness":5');
      expect(text).toContain('"component":"runc"');
      expect(text).toContain(token);
    }
    const latest = product.sim.world.view().nodes.map(({ latestModelApplied }) => latestModelApplied);
    expect(latest).toEqual([true, false, true]);
  });

  test('is merged with that of its pool in the dry run too, which shows what the node keeps', async () => {
    const node = product.sim.world.view().nodes[1]?.name ?? '';
    await set({ node, document: second });
    const before = await look();
    const sysctl = { 'kernel.panic': 30, 'vm.swappiness': 5 };
    const input = { pool: 'web', document: document({ system: { sysctl } }) };
    expect(await nodeConfigSet.open(product.deps).plan(input, { by: 'person' })).toEqual([
      'system.sysctl["kernel.panic"] changes from 10 to 30 (live)',
      'system.sysctl["vm.swappiness"] is set to 5 (live)',
      'Pool web (3 nodes): applied immediately, nothing restarts.',
      `Node ${node}: keeps its own system.sysctl["kernel.panic"].`,
    ]);
    expect(await look()).toEqual(before);
  });

  test('ends when it is that of its pool again', async () => {
    const node = product.sim.world.view().nodes[1]?.name ?? '';
    await set({ node, document: second });
    await set({ node, document: first });
    await set({ document: document({ system: { sysctl: { 'kernel.panic': 30 } } }) });
    expect(await sysctls()).toEqual(['30', '30', '30']);
  });

  test('that is not there is refused', async () => {
    const operation = await set({ node: 'web-zzzzzz', document: second });
    expect(operation).toMatchObject({ state: 'failed', error: { code: 'node-not-found' } });
  });
});

describe('a hotfix', () => {
  const hotfix = {
    component: 'runc',
    version: '1.4.3',
    source: 'https://files.example.com/runc',
    sha256: 'a'.repeat(64),
    cost: 'live',
  };

  test('goes on top of what is there, and replaces an earlier one of the same component', async () => {
    expect(await set({ hotfix })).toMatchObject({ state: 'succeeded', result: { applied: 3 } });
    expect(await set({ hotfix: { ...hotfix, version: '1.4.4' } })).toMatchObject({ state: 'succeeded' });
    const text = (await product.store.fleet.getPool('web'))?.nodeConfig ?? '';
    const { hotfixes, system } = JSON.parse(text) as { hotfixes: object[]; system: object };
    expect(hotfixes).toEqual([{ ...hotfix, version: '1.4.4' }]);
    expect(system).toEqual({ sysctl: { 'kernel.panic': 10 } });
  });

  test('stays when a document that does not mention hotfixes is set, until one lists none', async () => {
    await set({ hotfix });
    await set({ document: second });
    const hotfixes = async () => {
      const text = (await product.store.fleet.getPool('web'))?.nodeConfig ?? '';
      return (JSON.parse(text) as { hotfixes: object[] }).hotfixes;
    };
    expect(await hotfixes()).toEqual([hotfix]);
    await set({ document: document({ hotfixes: [] }) });
    expect(await hotfixes()).toEqual([]);
  });

  test('without a good sha256 is refused before anything is recorded', async () => {
    await expect(set({ hotfix: { ...hotfix, sha256: 'beef' } })).rejects.toMatchObject({
      code: 'node-config-invalid',
    });
  });
});

describe('rule 10: no secret in a record', () => {
  test('of the operation or the pool; only nodes read it', async () => {
    const operation = await set({ document: second });
    const record = await product.store.fleet.getPool('web');
    expect(JSON.stringify([operation, record])).not.toContain(token);
    expect(JSON.stringify(await look())).toContain(token);
  });

  test('one that is not named is refused', async () => {
    const plain = second.replace('secret:join', token);
    const refusal = await set({ document: plain }).then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(refusal).toMatchObject({ code: 'node-config-invalid' });
    expect(String(refusal)).not.toContain(token);
  });

  test('one that nobody has is missed before anything is changed', async () => {
    product.secrets.clear();
    const before = await look();
    const operation = await set({ document: second });
    expect(operation).toMatchObject({ state: 'failed', error: { code: 'secret-not-found' }, exceptions: [] });
    expect(await look()).toEqual(before);
  });
});

const steps = ['remember', 'try', 'send', 'model', 'record', 'adopt'] as const;

describe('rule 1: cancel leaves configs as they were', () => {
  test.each(steps)('at step %s', async (step) => {
    const before = await look();
    let deaths = 0;
    product.cancelAtDeath = true;
    product.atPoint = ({ name, moment }) =>
      name === `step do:${step}` && moment === 'after-body' && deaths++ === 0 ? 'die' : undefined;
    const operation = await set({ document: second });
    expect(operation).toMatchObject({ state: 'cancelled', exceptions: [] });
    expect(await look()).toEqual(before);
  });
});

describe('rule 11: a process that dies leaves no trace of it in the end', () => {
  test.each(steps)('around step %s', async (step) => {
    const moments = new Set(['before-body', 'after-body', 'after-record']);
    product.atPoint = ({ name, moment }) =>
      name === `step do:${step}` && moments.delete(moment) ? 'die' : undefined;
    const operation = await set({ document: second });
    expect(operation).toMatchObject({ state: 'succeeded', exceptions: [] });
    expect(await sysctls()).toEqual(['20', '20', '20']);
  });
});

describe('D4: the read decides, whatever the provider said', () => {
  const faults = ['fails', 'fails-but-took-effect', 'succeeds-but-did-nothing', 'reply-lost'] as const;
  test.each(
    ['nodeConfigs.setUserData', 'pools.setModel'].flatMap((call) =>
      faults.map((kind) => [call, kind] as const),
    ),
  )('%s %s once, and the config arrives', async (call, kind) => {
    product.sim.faults.add({ call, kind });
    const operation = await set({ document: second });
    expect(product.sim.faults.list()[0]?.hits).toBe(1);
    expect(operation).toMatchObject({ state: 'succeeded', exceptions: [] });
    expect(await sysctls()).toEqual(['20', '20', '20']);
  });
});
