import { describe, expect, test } from 'vitest';
import { simFixture } from '../../../test/support/sim/fixture.ts';
import type { KubeNode } from '../../domain/kube/objects.ts';
import { nodeState } from '../../domain/node/state.ts';
import { emptyConfig } from '../../domain/node-config/stored-config.ts';
import { clusterOf } from '../../kube/cluster.ts';
import { simulateCluster } from '../../kube/sim/simulated-cluster.ts';
import type { PoolCluster } from '../../ports/kube/clusters.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import type { OperationDeps } from '../common/deps.ts';
import { joinedConfig, joinedPools, type MadeNode, showInCluster, viewCluster } from './join.ts';

const dropped: string[] = [];
const joining = {
  ...{ server: 'https://168.63.129.1:6443', ca: 'CA' },
  isAllowed: async () => true,
  makeToken: async () => 'abcdef.0123456789abcdef',
  dropToken: async (node: string) => void dropped.push(node),
};

/** A pool of two nodes of a provider that vouches for its machines, and a cluster that they do not join. */
async function lab(name = 'local') {
  const fixture = simFixture();
  const { sim, options, clock } = fixture;
  await sim.pools.createPool(await fixture.pool('web', 2), options);
  await clock.advance(3_600_000);
  const provider: Provider = { ...sim, identities: { identify: () => undefined } };
  const api = simulateCluster(clock).apiAs('kubelet');
  const cluster: PoolCluster = { ...clusterOf(api, clock), name, joining, nodeName: (node) => node.name };
  const pools = joinedPools({ pools: sim.pools, provider }, cluster);
  const stateOf = async (node: string) => {
    const found = await pools.getNode('web', node, options);
    const [listed] = (await pools.listNodes('web', { limit: 10 }, options)).items.filter(
      (one) => one.name === node,
    );
    expect(listed).toEqual(found);
    return found && [nodeState(found), found.trouble];
  };
  const bootOf = async (node: string) =>
    (await sim.nodeConfigs.getReport('web', node, options))?.bootId ?? '';
  const register = async (node: string, status: string, bootID: string, message?: string) => {
    const object: KubeNode = {
      metadata: { name: node, labels: { 'imago.dev/pool': 'web' } },
      status: {
        conditions: [{ type: 'Ready', status, ...(message !== undefined && { message }) }],
        nodeInfo: { bootID },
      },
    };
    await api.delete('nodes', { name: node });
    return api.create('nodes', object);
  };
  const [first, second] = (await sim.pools.listNodes('web', { limit: 10 }, options)).items;
  if (first === undefined || second === undefined) throw new Error('The pool has no nodes.');
  return { provider, cluster, api, options, stateOf, bootOf, register, first, second };
}

describe('a node that joins automatically', () => {
  test('is ready only when the cluster reports it for this boot', async () => {
    const { stateOf, bootOf, register, first } = await lab();
    const { name } = first;
    expect(await stateOf(name)).toEqual(['starting', undefined]);
    await register(name, 'True', 'an earlier boot');
    expect(await stateOf(name)).toEqual(['starting', undefined]);
    await register(name, 'False', await bootOf(name), 'cni plugin not initialized');
    expect(await stateOf(name)).toEqual(['unknown', 'Cluster local: cni plugin not initialized']);
    await register(name, 'True', await bootOf(name));
    expect(await stateOf(name)).toEqual(['ready', undefined]);
  });

  test('is not ready, and can still be read, while the API server is away', async () => {
    const { provider, cluster, options, first } = await lab();
    const away = async () => {
      throw new Error('connect ECONNREFUSED');
    };
    const pools = joinedPools({ pools: provider.pools ?? never(), provider }, { ...cluster, node: away });
    const found = await pools.getNode('web', first.name, options);
    expect(found && nodeState(found)).toBe('unknown');
    expect(found?.trouble).toContain('ECONNREFUSED');
  });
});

describe('the objects of nodes', () => {
  const made = { image: 'node', version: '1.0.0', digest: 'sha256:1', reference: 'node:production' };
  const record = (node: { name: string; machineId: string }): MadeNode => ({
    ...{ ...made, channel: 'production', move: 7, pool: 'web', at: '2026-01-01T00:00:00.000Z' },
    ...{ name: node.name, machineId: node.machineId },
  });
  const fleetOf = (gone: readonly { name: string; machineId: string }[]) =>
    ({
      getNode: async (name: string) => {
        const found = gone.find((one) => one.name === name);
        return found && { ...found, goneAt: '2026-01-02T00:00:00.000Z' };
      },
    }) as OperationDeps['fleet'];

  async function show(name: string, gone: readonly { name: string; machineId: string }[]) {
    const { provider, cluster, api, options, register, first, bootOf } = await lab(name);
    await register(first.name, 'True', await bootOf(first.name));
    for (const other of ['web-gone', 'web-other']) {
      await register(other, 'False', 'b');
      await api.patch(
        'nodes',
        { name: other },
        { metadata: { annotations: { 'imago.dev/machine': other } } },
      );
    }
    const deps = { fleet: fleetOf(gone), clusterOf: async () => cluster };
    const view = await viewCluster(deps, { provider, options }, { name: 'web', cluster: name });
    const recorded = {
      ...{ records: [record(first)], alive: new Set([first.name]), ready: new Set([first.name]) },
    };
    expect(view && (await showInCluster(deps, view, recorded))).toBeUndefined();
    const { items } = await api.list('nodes');
    return { names: items.map(({ metadata }) => metadata.name), node: items[0]?.metadata, first };
  }

  test('name the version, the digest, and the channel move that they were created from', async () => {
    const { node, first } = await show('local', []);
    expect(node?.labels).toEqual({
      ...{ 'imago.dev/pool': 'web', 'imago.dev/image': 'node', 'imago.dev/version': '1.0.0' },
    });
    expect(node?.annotations).toEqual({
      ...{ 'imago.dev/machine': first.machineId, 'imago.dev/digest': 'sha256:1' },
      ...{ 'imago.dev/reference': 'node:production', 'imago.dev/channel-move': 'production/7' },
    });
    expect(dropped).toContain(first.name);
  });

  test('are deleted with their nodes; in a cluster of someone else, only those of nodes that Imago deleted', async () => {
    expect((await show('local', [])).names).toHaveLength(1);
    const { names, first } = await show('theirs', [
      { name: 'web-gone', machineId: 'web-gone' },
      { name: 'web-other', machineId: 'another machine' },
    ]);
    expect(names.toSorted()).toEqual([first.name, 'web-other'].toSorted());
  });
});

describe('the config of a node', () => {
  const source = { url: 'https://168.63.129.1:1/clusters/local', resource: 'imago:cluster/local', ca: 'CA' };
  const joins = async (allowed: boolean) => {
    const { provider, cluster, options } = await lab();
    const isAllowed = async () => allowed;
    const clusterOf = async () => ({ ...cluster, joining: { ...joining, isAllowed } });
    return { provider, run: { call: options, joinSource: async () => source, clusterOf } };
  };

  test('is completed with what it needs to join, and with a network in its pod range', async () => {
    const { provider, run } = await joins(true);
    const config = await joinedConfig(run, provider, 'local', emptyConfig);
    expect(config.kubernetes).toEqual({
      ...{ apiServer: 'https://168.63.129.1:6443', ca: 'CA', bootstrap: { identity: source } },
    });
    expect(JSON.stringify(config.network?.cni)).toContain('{{.PodCIDR}}');
    const own = { ...emptyConfig, network: { cni: { config: { name: 'mine' } } } };
    expect((await joinedConfig(run, provider, 'local', own)).network).toEqual(own.network);
  });

  test('stays as it is without a cluster, without the rights, and if it names a cluster itself', async () => {
    const { provider, run } = await joins(true);
    expect(await joinedConfig(run, provider, undefined, emptyConfig)).toBe(emptyConfig);
    const own = { ...emptyConfig, kubernetes: { apiServer: 'https://api.example.com', ca: 'CA' } };
    expect(await joinedConfig(run, provider, 'local', own)).toBe(own);
    const refused = await joins(false);
    expect(await joinedConfig(refused.run, provider, 'local', emptyConfig)).toBe(emptyConfig);
  });
});

function never(): never {
  throw new Error('The provider has no pools.');
}
