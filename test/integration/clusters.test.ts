// Clusters that pools belong to: what registration refuses, what is stored of a kubeconfig, and the simulated cluster.
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { hasCondition } from '../../src/domain/kube/objects.ts';
import { openWorldCluster } from '../../src/kube/sim/world-cluster.ts';
import { type ApiBench, openApi } from '../support/api-bench.ts';
import { databaseText } from '../support/database-text.ts';
import { type KubeServer, kubeToken, startKubeServer } from '../support/kube-server.ts';
import { createProduct, type Product } from '../support/product.ts';
import { simulateVersions, succeed } from '../support/simulated-versions.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;
beforeAll(async () => {
  bench = await startStoreBench();
});
afterAll(() => bench.stop());

describe('a cluster', () => {
  let api: ApiBench;
  let kube: KubeServer;
  beforeEach(async () => {
    [api, kube] = await Promise.all([openApi(bench), startKubeServer()]);
  });
  afterEach(async () => {
    await Promise.all([api.close(), kube.close()]);
  });
  const add = (name = 'prod', more: object = {}) =>
    api.client.call('addCluster', { body: { name, kubeconfig: kube.kubeconfig, ...more } });

  test('is registered by the path of its kubeconfig, whose secrets are stored nowhere', async () => {
    expect(await add()).toMatchObject({ name: 'prod', server: kube.address, uid: 'the-cluster' });
    expect(await api.client.call('showCluster', { path: { cluster: 'prod' } })).toMatchObject({
      state: 'ready',
      version: 'v1.36.3',
      nodes: [{ name: 'a', ready: true, schedulable: false, version: 'v1.35.1', pool: 'web' }],
    });
    const names = (await api.client.call('listClusters')).items.map(({ name }) => name);
    expect(names).toEqual(['prod', 'sim']);
    expect(await databaseText(api.url)).toContain(kube.kubeconfig);
    expect(await databaseText(api.url)).not.toContain(kubeToken);
    expect(api.logged.join('\n')).not.toContain(kubeToken);
  });

  test('with rights missing is refused with every verb and resource, and nothing is stored', async () => {
    for (const right of ['patch nodes', 'create pods/eviction']) kube.denied.add(right);
    await expect(add()).rejects.toMatchObject({
      code: 'cluster-forbidden',
      message: expect.stringContaining('patch of nodes, create of pods/eviction'),
    });
    expect((await api.client.call('listClusters')).items).toHaveLength(1);
  });

  test('that is too old, does not respond, or rejects the credentials is refused', async () => {
    kube.version = 'v1.20.2';
    await expect(add()).rejects.toMatchObject({ code: 'cluster-version-unsupported' });
    kube.version = 'v1.36.3';
    await rm(kube.kubeconfig);
    await expect(add()).rejects.toMatchObject({ code: 'cluster-config-invalid' });
    await writeFile(kube.kubeconfig, kubeconfigFor('http://127.0.0.1:9', kubeToken));
    await expect(add()).rejects.toMatchObject({ code: 'cluster-unreachable' });
    await writeFile(kube.kubeconfig, kubeconfigFor(kube.address, 'wrong'));
    await expect(add()).rejects.toMatchObject({ code: 'cluster-unauthorized' });
    expect((await api.client.call('listClusters')).items).toHaveLength(1);
  });

  test('has one name, and a name is one cluster', async () => {
    await add();
    await expect(add('other')).rejects.toMatchObject({ code: 'cluster-exists' });
    expect(await add('prod', { context: 'test' })).toMatchObject({ context: 'test' });
    kube.uid = 'another';
    await expect(add()).rejects.toMatchObject({ code: 'cluster-exists' });
    await expect(add('sim')).rejects.toMatchObject({ code: 'cluster-exists' });
  });

  test('is not read from a path that a caller of another host names', async () => {
    const remote = await api.clientOf('admin');
    const body = { name: 'prod', kubeconfig: kube.kubeconfig };
    await expect(remote.call('addCluster', { body })).rejects.toMatchObject({ code: 'recipe-local-input' });
    const relative = { name: 'prod', kubeconfig: 'config' };
    await expect(api.client.call('addCluster', { body: relative })).rejects.toMatchObject({
      code: 'input-invalid',
    });
  });

  test('that stops responding is shown with the reason, and used again with its new kubeconfig', async () => {
    await add();
    const path = { cluster: 'prod' };
    await writeFile(kube.kubeconfig, kubeconfigFor(kube.address, 'expired'));
    const shown = await api.client.call('showCluster', { path });
    expect(shown).toMatchObject({ state: 'unreachable', nodes: [] });
    expect(shown.trouble).toContain('rejected the credentials');
    await writeFile(kube.kubeconfig, kubeconfigFor(kube.address, kubeToken));
    expect(await api.client.call('showCluster', { path })).toMatchObject({ state: 'ready' });
  });

  test('is removed only when no pool belongs to it', async () => {
    await add();
    await api.store.fleet.addPool({
      ...{ name: 'web', provider: 'local', orchestration: 'uniform', size: 'small', reference: 'node:1.0.0' },
      ...{ image: 'node', version: '1.0.0', digest: `sha256:${'a'.repeat(64)}`, nodeConfig: '{}' },
      cluster: 'prod',
    });
    const remove = () => api.client.call('removeCluster', { path: { cluster: 'prod' } });
    await expect(remove()).rejects.toMatchObject({ code: 'cluster-in-use' });
    await api.store.fleet.setPoolCluster('web', undefined);
    await remove();
    await expect(api.store.fleet.setPoolCluster('web', 'prod')).rejects.toMatchObject({
      code: 'cluster-not-found',
    });
    await expect(api.client.call('removeCluster', { path: { cluster: 'sim' } })).rejects.toMatchObject({
      code: 'cluster-in-use',
    });
  });
});

function kubeconfigFor(server: string, token: string): string {
  return JSON.stringify({
    'current-context': 'test',
    contexts: [{ name: 'test', context: { cluster: 'test', user: 'test' } }],
    clusters: [{ name: 'test', cluster: { server } }],
    users: [{ name: 'test', user: { token } }],
  });
}

describe('the simulated cluster', () => {
  let product: Product;
  const call = { signal: AbortSignal.timeout(600_000), epoch: 0 };
  beforeEach(async () => {
    product = await createProduct(await bench.freshStore());
    await simulateVersions(product, 1);
    const input = { name: 'web', reference: 'node:latest', capacity: 2 };
    await succeed(product, { kind: 'pool-create', subject: 'pool/web', input });
  });
  afterEach(() => product.close());

  async function clusterOfWeb() {
    const pool = await product.store.fleet.getPool('web');
    const cluster = await product.deps.clusterOf(pool ?? {});
    if (cluster === undefined) throw new Error('The pool belongs to no cluster.');
    return cluster;
  }
  const until = (power: string) =>
    expect
      .poll(async () => (await product.sim.pools.getNode('web', 'web-000000', call))?.power, {
        timeout: 20_000,
      })
      .toBe(power);

  test('has a ready node for each node of a simulated pool, labelled with its version', async () => {
    const cluster = await clusterOfWeb();
    expect(cluster.name).toBe('sim');
    const nodes = await cluster.nodes();
    expect(nodes.map((node) => [node.metadata.name, hasCondition(node, 'Ready')])).toEqual([
      ['web-000000', true],
      ['web-000001', true],
    ]);
    expect(nodes[0]?.metadata.labels).toMatchObject({
      ...{ 'imago.dev/pool': 'web', 'imago.dev/image': 'node', 'imago.dev/version': '1.0.0' },
    });
  });

  test('shows a stopped machine as NotReady, keeps its cordon, and forgets it when it is deleted', async () => {
    const cluster = await clusterOfWeb();
    const name = cluster.nodeName({ name: 'web-000000' });
    const { uid } = await cluster.cordon(name, 'operation-1');
    await product.sim.pools.stopNode('web', name, call);
    await until('stopped');
    const stopped = await cluster.node(name);
    expect(stopped && hasCondition(stopped, 'Ready')).toBe(false);
    expect(stopped?.metadata.uid).toBe(uid);
    await product.sim.pools.startNode('web', name, call);
    await until('running');
    await expect
      .poll(async () => {
        const node = await cluster.node(name);
        return node && hasCondition(node, 'Ready');
      })
      .toBe(true);
    expect(await cluster.node(name)).toMatchObject({ metadata: { uid }, spec: { unschedulable: true } });
    await product.sim.pools.deleteNode('web', name, call);
    await expect.poll(() => cluster.node(name)).toBeUndefined();
    expect(await cluster.nodes()).toHaveLength(1);
  });

  test('keeps cordons and pods when the process ends', async () => {
    const cluster = await clusterOfWeb();
    await cluster.cordon('web-000000', 'operation-1');
    const api = product.world.apiAs('kubectl');
    await api.create('pods', {
      metadata: { name: 'p', namespace: 'default' },
      spec: { nodeName: 'web-000001' },
    });
    const next = openWorldCluster(product.sim.cluster, product.sim.clock);
    expect(await next.cluster.node('web-000000')).toMatchObject({
      metadata: { annotations: { 'imago.dev/cordoned-by': 'operation-1' } },
      spec: { unschedulable: true },
    });
    expect(await next.apiAs('kubectl').get('pods', { namespace: 'default', name: 'p' })).toBeDefined();
    await next.close();
  });

  test('is left by a simulated pool, which cannot join a real one', async () => {
    const move = (cluster?: string) =>
      product.run({ kind: 'pool-set-cluster', subject: 'pool/web', input: { name: 'web', cluster } });
    expect(await move()).toMatchObject({ state: 'succeeded' });
    expect(await product.store.fleet.getPool('web')).not.toHaveProperty('cluster');
    await product.store.clusterBook.add({ name: 'prod', uid: 'u', by: 'ann', kubeconfig: join('/', 'none') });
    expect(await move('prod')).toMatchObject({ state: 'failed', error: { code: 'simulation-mixed' } });
    expect(await move('sim')).toMatchObject({ state: 'succeeded', result: { name: 'web', cluster: 'sim' } });
  });
});
