// Pools: a model for new nodes, a capacity that others may change, and never one's work over another's.
import { describe, expect, it } from 'vitest';
import { everything, refusal, refusalOfKind } from './checks.ts';
import type { Suite } from './suite.ts';

export function poolRules(suite: Suite): void {
  const { options } = suite;

  describe('pools', () => {
    it('nothing is found, deleting it succeeds, and other calls say that it is not there', async () => {
      const pools = suite.role('pools');
      const { image, first } = await suite.line();
      const name = suite.name('nothing');
      expect(await pools.getPool(name, options)).toBeUndefined();
      expect(await pools.getNode(name, 'any', options)).toBeUndefined();
      await pools.deletePool(name, options);
      await pools.deleteNode(name, 'any', options);
      const calls = [
        () => pools.setModel(name, suite.model(image, first), {}, options),
        () => pools.setCapacity(name, 1, {}, options),
        () => pools.listNodes(name, { limit: 5 }, options),
        () => pools.stopNode(name, 'any', options),
        () => pools.startNode(name, 'any', options),
        ...(suite.has('reimage', 'uniform') ? [() => pools.reimageNode(name, 'any', options)] : []),
        ...(suite.has('upgrade', 'uniform') ? [() => pools.upgradeNode(name, 'any', options)] : []),
      ];
      for (const call of calls) await refusal(call(), 'provider-not-found');
    });

    it('one made twice is one, with nodes made once', async () => {
      const pools = suite.role('pools');
      const spec = await suite.poolSpec();
      await pools.createPool(spec, options);
      await pools.createPool(spec, options);
      const pool = await suite.settledPool(spec.name);
      expect(pool).toMatchObject({
        state: 'ready',
        capacity: spec.capacity,
        model: spec.model,
        orchestration: spec.orchestration,
      });
      const nodes = await suite.nodes(spec.name);
      expect(nodes).toHaveLength(spec.capacity);
      expect(new Set(nodes.map((node) => node.name)).size).toBe(spec.capacity);
      for (const node of nodes) {
        expect(node).toMatchObject({
          pool: spec.name,
          state: 'ready',
          power: 'running',
          image: spec.model.image,
          version: spec.model.version,
          latestModelApplied: true,
        });
      }
      await pools.createPool(spec, options);
      expect(await suite.settledPool(spec.name)).toEqual(pool);
      const all = await everything((query) => pools.listPools(query, options), 1);
      expect(all.filter((one) => one.name === spec.name)).toHaveLength(1);
      await suite.dropPool(spec.name);
    });

    it('one made again with other content is refused and stays', async () => {
      const pools = suite.role('pools');
      const { image, second } = await suite.line();
      const spec = await suite.pool();
      const before = await pools.getPool(spec.name, options);
      const other = { ...spec, model: suite.model(image, second) };
      expect((await refusal(pools.createPool(other, options), 'provider-conflict')).retryable).toBe(false);
      if (suite.has('uniform', 'flexible')) {
        const turned = { ...spec, orchestration: 'flexible' as const };
        await refusal(pools.createPool(turned, options), 'provider-conflict');
      }
      expect(await pools.getPool(spec.name, options)).toEqual(before);
      await suite.dropPool(spec.name);
    });

    it('made again after someone else scaled it keeps their capacity', async () => {
      const pools = suite.role('pools');
      const spec = await suite.pool();
      await pools.setCapacity(spec.name, spec.capacity + 1, {}, options);
      await pools.createPool(spec, options);
      expect((await suite.settledPool(spec.name)).capacity).toBe(spec.capacity + 1);
      await suite.dropPool(spec.name);
    });

    suite.itWith(
      ['gallery'],
      'is not made from, or moved to, a version that the gallery does not have',
      async () => {
        const pools = suite.role('pools');
        const { image, first } = await suite.line();
        const model = suite.model(image, { ...first, version: '9.9.9' });
        const spec = await suite.poolSpec({ model });
        await refusal(pools.createPool(spec, options), 'provider-not-found');
        expect(await pools.getPool(spec.name, options)).toBeUndefined();
        const good = await suite.pool();
        const before = await pools.getPool(good.name, options);
        await refusal(pools.setModel(good.name, model, {}, options), 'provider-not-found');
        expect(await pools.getPool(good.name, options)).toEqual(before);
        await suite.dropPool(good.name);
      },
    );

    it.each([-1, 1.5, Number.NaN])('refuses a capacity of %s', async (capacity) => {
      const pools = suite.role('pools');
      const spec = await suite.poolSpec({ capacity });
      await refusalOfKind(pools.createPool(spec, options), 'input');
      expect(await pools.getPool(spec.name, options)).toBeUndefined();
    });

    it('a new model leaves the nodes alone, shows them as behind, and is what new nodes come from', async () => {
      const pools = suite.role('pools');
      const { image, second } = await suite.line();
      const spec = await suite.pool();
      const before = await suite.nodes(spec.name);
      const model = suite.model(image, second);
      await pools.setModel(spec.name, model, {}, options);
      expect((await suite.settledPool(spec.name)).model).toEqual(model);
      const behind = await suite.nodes(spec.name);
      expect(behind.map(({ health, ...node }) => node)).toEqual(
        before.map(({ health, ...node }) => ({ ...node, latestModelApplied: false })),
      );
      await pools.setCapacity(spec.name, spec.capacity + 1, {}, options);
      await suite.settledPool(spec.name);
      const known = new Set(before.map((node) => node.machineId));
      const added = (await suite.nodes(spec.name)).filter((node) => !known.has(node.machineId));
      expect(added).toMatchObject([{ version: second.version, latestModelApplied: true }]);
      await suite.dropPool(spec.name);
    });

    it('the model or capacity that it has already changes nothing, whatever the etag', async () => {
      const pools = suite.role('pools');
      const spec = await suite.pool();
      const before = await pools.getPool(spec.name, options);
      await pools.setModel(
        spec.name,
        { ...spec.model, tags: { ...spec.model.tags } },
        { ifMatch: 'old' },
        options,
      );
      await pools.setCapacity(spec.name, spec.capacity, { ifMatch: 'old' }, options);
      expect(await pools.getPool(spec.name, options)).toEqual(before);
      await suite.dropPool(spec.name);
    });

    it("an old etag never overwrites someone else's work", async () => {
      const pools = suite.role('pools');
      const { image, second } = await suite.line();
      const spec = await suite.pool();
      const old = (await pools.getPool(spec.name, options))?.etag ?? '';
      await pools.setCapacity(spec.name, spec.capacity + 1, {}, options);
      const theirs = await suite.settledPool(spec.name);
      expect(theirs.etag).not.toBe(old);
      const model = suite.model(image, second);
      const late = [
        pools.setModel(spec.name, model, { ifMatch: old }, options),
        pools.setCapacity(spec.name, 1, { ifMatch: old }, options),
      ];
      for (const call of late) expect((await refusal(call, 'provider-conflict')).retryable).toBe(false);
      expect(await pools.getPool(spec.name, options)).toEqual(theirs);
      await pools.setModel(spec.name, model, { ifMatch: theirs.etag }, options);
      expect((await suite.settledPool(spec.name)).etag).not.toBe(theirs.etag);
      await suite.dropPool(spec.name);
    });

    it('has as many nodes as its capacity, after more and after fewer', async () => {
      const pools = suite.role('pools');
      const spec = await suite.pool();
      const ids = new Set((await suite.nodes(spec.name)).map((node) => node.machineId));
      for (const capacity of [spec.capacity + 2, 1, 0, 2]) {
        await pools.setCapacity(spec.name, capacity, {}, options);
        await suite.under.settle(async () => (await suite.nodes(spec.name)).length === capacity);
        expect((await suite.settledPool(spec.name)).capacity).toBe(capacity);
      }
      const last = (await suite.nodes(spec.name)).map((node) => node.machineId);
      expect(last.filter((id) => ids.has(id))).toEqual([]);
      await suite.dropPool(spec.name);
    });

    suite.itWith(['protect'], 'scale-in never takes a protected node, and refuses rather', async () => {
      const pools = suite.role('pools');
      const spec = await suite.pool({ capacity: 3 });
      const kept = (await suite.nodes(spec.name)).slice(-2);
      for (const [index, node] of kept.entries()) {
        const protection = { fromScaleIn: true, fromPoolActions: index === 0 };
        await pools.protectNode(spec.name, node.name, protection, options);
        await pools.protectNode(spec.name, node.name, protection, options);
        expect((await suite.node(spec.name, node.name)).protection).toEqual(protection);
      }
      await pools.setCapacity(spec.name, 2, {}, options);
      await suite.under.settle(async () => (await suite.nodes(spec.name)).length === 2);
      expect((await suite.nodes(spec.name)).map((node) => node.machineId).sort()).toEqual(
        kept.map((node) => node.machineId).sort(),
      );
      const before = await suite.settledPool(spec.name);
      await refusal(pools.setCapacity(spec.name, 1, {}, options), 'provider-conflict');
      expect(await suite.settledPool(spec.name)).toEqual(before);
      expect(await suite.nodes(spec.name)).toHaveLength(2);
      for (const node of kept) {
        const none = { fromScaleIn: false, fromPoolActions: false };
        await pools.protectNode(spec.name, node.name, none, options);
      }
      await pools.setCapacity(spec.name, 1, {}, options);
      await suite.under.settle(async () => (await suite.nodes(spec.name)).length === 1);
      await suite.dropPool(spec.name);
    });

    suite.itWith(
      ['gallery'],
      'cannot grow from a version that was deleted, and says so at the node',
      async () => {
        const pools = suite.role('pools');
        const gallery = suite.role('gallery');
        const { image, first } = await suite.line();
        await suite.publish(image, '6.0.0', first);
        const spec = await suite.pool({
          model: suite.model(image, { ...first, version: '6.0.0' }),
          capacity: 1,
        });
        await gallery.deleteVersion(image, '6.0.0', options);
        await suite.goneVersion(image, '6.0.0');
        const [old] = await suite.nodes(spec.name);
        await pools.setCapacity(spec.name, 2, {}, options);
        await suite.settledPool(spec.name);
        const nodes = await suite.nodes(spec.name);
        expect(nodes).toHaveLength(2);
        expect(nodes.find((node) => node.name === old?.name)).toMatchObject({
          state: 'ready',
          power: 'running',
        });
        const failed = nodes.find((node) => node.name !== old?.name);
        expect(failed?.state).toBe('failed');
        expect(failed?.error?.message).toContain('6.0.0');
        await pools.setCapacity(spec.name, 1, {}, options);
        await suite.dropPool(spec.name);
      },
    );

    it('deleted and made anew under the same name, it has other machines', async () => {
      const pools = suite.role('pools');
      const spec = await suite.pool();
      const before = new Set((await suite.nodes(spec.name)).map((node) => node.machineId));
      await pools.deletePool(spec.name, options);
      await pools.deletePool(spec.name, options);
      const going = await pools.getPool(spec.name, options);
      if (going !== undefined) {
        expect(going.state).toBe('deleting');
        expect((await refusal(pools.createPool(spec, options), 'provider-conflict')).retryable).toBe(true);
      }
      await suite.gone(() => pools.getPool(spec.name, options));
      await pools.createPool(spec, options);
      await suite.settledPool(spec.name);
      const after = (await suite.nodes(spec.name)).map((node) => node.machineId);
      expect(after).toHaveLength(spec.capacity);
      expect(after.filter((id) => before.has(id))).toEqual([]);
      await suite.dropPool(spec.name);
    });

    it('lists each node once, in order, while nodes are added', async () => {
      const pools = suite.role('pools');
      const spec = await suite.pool({ capacity: 4 });
      const before = (await suite.nodes(spec.name)).map((node) => node.name);
      const seen: string[] = [];
      let capacity = 4;
      let cursor: string | undefined;
      do {
        const query = cursor === undefined ? { limit: 1 } : { limit: 1, cursor };
        const page = await pools.listNodes(spec.name, query, options);
        seen.push(...page.items.map((node) => node.name));
        cursor = page.next;
        capacity += capacity < 7 ? 1 : 0;
        await pools.setCapacity(spec.name, capacity, {}, options);
      } while (cursor !== undefined);
      expect(seen).toEqual([...seen].sort());
      expect(new Set(seen).size).toBe(seen.length);
      expect(before.filter((name) => !seen.includes(name))).toEqual([]);
      await suite.dropPool(spec.name);
    });
  });
}
