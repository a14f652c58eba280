// Nodes of a pool: power, disks and identity.
import { describe, expect, it } from 'vitest';
import type { PoolSpec, ProviderNode } from '../../../src/ports/provider/pools.ts';
import { refusal } from './checks.ts';
import type { Suite } from './suite.ts';

export function nodeRules(suite: Suite): void {
  const { options } = suite;

  async function poolWithNode(
    change: Partial<PoolSpec> = {},
  ): Promise<{ spec: PoolSpec; node: ProviderNode }> {
    const spec = await suite.pool({ capacity: 2, ...change });
    const [node] = await suite.nodes(spec.name);
    if (node === undefined) throw new Error(`Pool ${spec.name} has no node.`);
    return { spec, node };
  }

  /** What a restart must not touch. */
  function identity(node: ProviderNode) {
    const { name, machineId, image, version, createdAt, imagedAt, osDisk } = node;
    return { name, machineId, image, version, createdAt, imagedAt, osDisk };
  }

  describe('nodes', () => {
    it('a node that is not there: nothing is found, deleting succeeds, the rest is refused', async () => {
      const pools = suite.role('pools');
      const { spec } = await poolWithNode();
      expect(await pools.getNode(spec.name, 'no-such-node', options)).toBeUndefined();
      await pools.deleteNode(spec.name, 'no-such-node', options);
      expect((await pools.getPool(spec.name, options))?.capacity).toBe(2);
      await refusal(pools.stopNode(spec.name, 'no-such-node', options), 'provider-not-found');
      await refusal(pools.startNode(spec.name, 'no-such-node', options), 'provider-not-found');
      await suite.dropPool(spec.name);
    });

    it('every machine has an id of its own, over all pools', async () => {
      const one = await suite.pool();
      const other = await suite.pool();
      const ids = [...(await suite.nodes(one.name)), ...(await suite.nodes(other.name))].map(
        (node) => node.machineId,
      );
      expect(new Set(ids).size).toBe(one.capacity + other.capacity);
      await suite.dropPool(one.name);
      await suite.dropPool(other.name);
    });

    it('stopped and started, it is the same machine with the same disk', async () => {
      const pools = suite.role('pools');
      const { spec, node } = await poolWithNode();
      await pools.stopNode(spec.name, node.name, options);
      await pools.stopNode(spec.name, node.name, options);
      const stopped = await suite.until(
        () => pools.getNode(spec.name, node.name, options),
        (one) => one.power === 'stopped',
      );
      expect(identity(stopped)).toEqual(identity(node));
      await pools.stopNode(spec.name, node.name, options);
      expect((await suite.node(spec.name, node.name)).power).toBe('stopped');
      expect((await suite.settledPool(spec.name)).capacity).toBe(2);
      await pools.startNode(spec.name, node.name, options);
      await pools.startNode(spec.name, node.name, options);
      const started = await suite.until(
        () => pools.getNode(spec.name, node.name, options),
        (one) => one.power === 'running' && one.state === 'ready',
      );
      expect(identity(started)).toEqual(identity(node));
      await pools.startNode(spec.name, node.name, options);
      expect((await suite.node(spec.name, node.name)).power).toBe('running');
      await suite.dropPool(spec.name);
    });

    it('one that comes up becomes healthy, where the provider carries that word', async () => {
      const { spec, node } = await poolWithNode();
      if (node.health !== undefined) {
        await suite.until(
          () => suite.role('pools').getNode(spec.name, node.name, options),
          (one) => one.health === 'healthy',
        );
      }
      await suite.dropPool(spec.name);
    });

    suite.itWith(
      ['reimage', 'uniform'],
      'reimaged, it keeps its name and gets the disk of the model',
      async () => {
        const pools = suite.role('pools');
        const { image, second } = await suite.line();
        const { spec, node } = await poolWithNode();
        await pools.setModel(spec.name, suite.model(image, second), {}, options);
        await suite.settledPool(spec.name);
        await pools.reimageNode(spec.name, node.name, options);
        const after = await suite.until(
          () => pools.getNode(spec.name, node.name, options),
          (one) => one.imagedAt !== node.imagedAt && one.state === 'ready' && one.power === 'running',
        );
        expect(after).toMatchObject({ name: node.name, version: second.version, latestModelApplied: true });
        expect(Date.parse(after.imagedAt)).toBeGreaterThan(Date.parse(node.imagedAt));
        const others = (await suite.nodes(spec.name)).filter((one) => one.name !== node.name);
        expect(others).toMatchObject([{ version: spec.model.version, latestModelApplied: false }]);
        await suite.dropPool(spec.name);
      },
    );

    suite.itWith(
      ['upgrade', 'uniform'],
      'upgraded, it is brought to the model once, and not again',
      async () => {
        const pools = suite.role('pools');
        const { image, second } = await suite.line();
        const { spec, node } = await poolWithNode();
        await pools.upgradeNode(spec.name, node.name, options);
        const untouched = await suite.node(spec.name, node.name);
        expect({ ...identity(untouched), state: untouched.state }).toEqual({
          ...identity(node),
          state: 'ready',
        });
        await pools.setModel(spec.name, suite.model(image, second), {}, options);
        await suite.settledPool(spec.name);
        await pools.upgradeNode(spec.name, node.name, options);
        const after = await suite.until(
          () => pools.getNode(spec.name, node.name, options),
          (one) => one.latestModelApplied && one.state === 'ready',
        );
        expect(after.version).toBe(second.version);
        expect(after.imagedAt).not.toBe(node.imagedAt);
        await pools.upgradeNode(spec.name, node.name, options);
        expect(await suite.node(spec.name, node.name)).toMatchObject({
          imagedAt: after.imagedAt,
          state: 'ready',
        });
        await suite.dropPool(spec.name);
      },
    );

    suite.itWith(
      ['upgrade', 'uniform'],
      'upgraded to another node config alone, it keeps its disk',
      async () => {
        const pools = suite.role('pools');
        const { image, first } = await suite.line();
        const { spec, node } = await poolWithNode();
        await pools.setModel(spec.name, suite.model(image, first, '{"labels":{"a":"b"}}'), {}, options);
        await suite.settledPool(spec.name);
        expect((await suite.node(spec.name, node.name)).latestModelApplied).toBe(false);
        await pools.upgradeNode(spec.name, node.name, options);
        const after = await suite.until(
          () => pools.getNode(spec.name, node.name, options),
          (one) => one.latestModelApplied && one.state === 'ready',
        );
        expect(identity(after)).toEqual(identity(node));
        await suite.dropPool(spec.name);
      },
    );

    suite.itWith(['flexible', 'reimage'], 'a node of a flexible pool is only replaced', async () => {
      const pools = suite.role('pools');
      const { spec, node } = await poolWithNode({ orchestration: 'flexible' });
      await refusal(pools.reimageNode(spec.name, node.name, options), 'provider-lacks');
      expect(identity(await suite.node(spec.name, node.name))).toEqual(identity(node));
      await suite.dropPool(spec.name);
    });

    it('deleted, this very one goes and the capacity falls by one, however often it is asked', async () => {
      const pools = suite.role('pools');
      const { spec, node } = await poolWithNode({ capacity: 3 });
      const before = (await pools.getPool(spec.name, options))?.etag;
      await pools.deleteNode(spec.name, node.name, options);
      await pools.deleteNode(spec.name, node.name, options);
      expect((await pools.getPool(spec.name, options))?.capacity).toBe(2);
      await suite.gone(() => pools.getNode(spec.name, node.name, options));
      await pools.deleteNode(spec.name, node.name, options);
      const pool = await suite.settledPool(spec.name);
      expect(pool.capacity).toBe(2);
      expect(pool.etag).not.toBe(before);
      const left = await suite.nodes(spec.name);
      expect(left).toHaveLength(2);
      expect(left.map((one) => one.name)).not.toContain(node.name);
      await suite.dropPool(spec.name);
    });

    suite.itWith(['protect'], 'a protected one is still stopped and deleted when it is meant', async () => {
      const pools = suite.role('pools');
      const { spec, node } = await poolWithNode();
      await pools.protectNode(spec.name, node.name, { fromScaleIn: true, fromPoolActions: true }, options);
      await pools.stopNode(spec.name, node.name, options);
      await suite.until(
        () => pools.getNode(spec.name, node.name, options),
        (one) => one.power === 'stopped',
      );
      await pools.deleteNode(spec.name, node.name, options);
      await suite.gone(() => pools.getNode(spec.name, node.name, options));
      await suite.dropPool(spec.name);
    });
  });
}
