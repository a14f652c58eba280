// What simulated pools do as Azure's scale sets do, beyond what every pool must.
import { describe, expect, it } from 'vitest';
import { type SimFixture, simFixture } from '../../../test/support/sim/fixture.ts';
import type { ProviderNode } from '../../ports/provider/pools.ts';

async function pagesOf({ sim, options }: SimFixture, pool: string, limit: number): Promise<ProviderNode[][]> {
  const pages: ProviderNode[][] = [];
  let cursor: string | undefined;
  do {
    const page = await sim.pools.listNodes(
      pool,
      cursor === undefined ? { limit } : { limit, cursor },
      options,
    );
    pages.push([...page.items]);
    cursor = page.next;
  } while (cursor !== undefined);
  return pages;
}

describe('a pool of ten thousand nodes', () => {
  it('is created, listed in pages of 500, and deleted, with unique ids', async () => {
    const fixture = simFixture();
    const { sim, clock, options } = fixture;
    const model = await fixture.publish('1.0.0');
    await sim.pools.createPool(fixture.poolSpec('big', 10_000, model), options);
    await clock.advance(3_600_000);
    const pages = await pagesOf(fixture, 'big', 500);
    expect(pages.map((page) => page.length)).toEqual(Array.from({ length: 20 }, () => 500));
    const nodes = pages.flat();
    expect(new Set(nodes.map((node) => node.machineId)).size).toBe(10_000);
    expect(new Set(nodes.map((node) => node.name)).size).toBe(10_000);
    expect(nodes.every((node) => node.state === 'ready' && node.health === 'healthy')).toBe(true);
    await sim.pools.setCapacity('big', 10, {}, options);
    await clock.advance(3_600_000);
    expect((await pagesOf(fixture, 'big', 500)).map((page) => page.length)).toEqual([10]);
  });

  it('of the flexible kind has names that never meet', async () => {
    const fixture = simFixture();
    const model = await fixture.publish('1.0.0');
    const spec = { ...fixture.poolSpec('big', 10_000, model), orchestration: 'flexible' as const };
    await fixture.sim.pools.createPool(spec, fixture.options);
    const names = (await pagesOf(fixture, 'big', 1000)).flat().map((node) => node.name);
    expect(new Set(names).size).toBe(10_000);
    expect(names.every((name) => /^big-[0-9a-z]{6}$/.test(name))).toBe(true);
  });
});

describe('capacity set by someone else', () => {
  it('changes the etag, so that our own write does not go over it', async () => {
    const { sim, options, pool } = simFixture();
    await pool('web', 3);
    const before = await sim.pools.getPool('web', options);
    sim.world.setCapacityByOther('web', 7);
    const write = sim.pools.setCapacity('web', 2, { ifMatch: before?.etag ?? '' }, options);
    await expect(write).rejects.toMatchObject({ code: 'provider-conflict', retryable: false });
    expect((await sim.pools.getPool('web', options))?.capacity).toBe(7);
    expect(() => sim.world.setCapacityByOther('web', -1)).toThrow('whole number');
    expect(() => sim.world.setCapacityByOther('none', 1)).toThrow('no pool none');
  });
});

describe('names', () => {
  it('of nodes that went are not used again', async () => {
    const { sim, clock, options, pool } = simFixture();
    await pool('web', 3);
    await sim.pools.setCapacity('web', 1, {}, options);
    await sim.pools.setCapacity('web', 2, {}, options);
    await clock.advance(3_600_000);
    expect(sim.world.view().nodes.map((node) => node.name)).toEqual(['web-000000', 'web-000003']);
  });
});

describe('a broken image', () => {
  it('that does not boot: nodes fail after the time that they have', async () => {
    const fixture = simFixture();
    const { sim, clock, options } = fixture;
    const disk = await fixture.seal({ settings: { sim: { breaks: 'boot' } } });
    const model = await fixture.publish('1.0.0', disk);
    await sim.pools.createPool(fixture.poolSpec('web', 1, model), options);
    await clock.advance(300_000);
    expect(sim.world.view().nodes).toMatchObject([
      { state: 'creating', power: 'running', health: 'unknown' },
    ]);
    await clock.advance(400_000);
    expect(sim.world.view().nodes).toMatchObject([
      { state: 'failed', error: { code: 'OSProvisioningTimedOut' }, health: 'unknown' },
    ]);
  });

  it('whose agent fails: nodes are ready for the provider and unhealthy', async () => {
    const fixture = simFixture();
    const { sim, clock, options } = fixture;
    const disk = await fixture.seal({ settings: { sim: { breaks: 'agent' } } });
    await sim.pools.createPool(fixture.poolSpec('web', 1, await fixture.publish('1.0.0', disk)), options);
    await clock.advance(600_000);
    expect(sim.world.view().nodes).toMatchObject([{ state: 'ready', health: 'unhealthy' }]);
  });

  it('stays broken when a node of it is captured', async () => {
    const fixture = simFixture();
    const { sim, clock, options } = fixture;
    const disk = await fixture.seal({ settings: { sim: { breaks: 'agent' } } });
    const model = await fixture.publish('1.0.0', disk);
    await sim.pools.createPool(fixture.poolSpec('web', 1, model), options);
    await clock.advance(600_000);
    const donor = sim.world.view().nodes[0]?.osDisk ?? '';
    await sim.disks.createSnapshot({ name: 'donor', disk: donor, tags: {} }, options);
    await clock.advance(60_000);
    const source = { kind: 'snapshot', name: 'donor' } as const;
    await sim.gallery.createVersion({ ...fixture.versionSpec('2.0.0', disk), source }, options);
    await clock.advance(600_000);
    await sim.pools.createPool(fixture.poolSpec('clones', 1, { ...model, version: '2.0.0' }), options);
    await clock.advance(600_000);
    const [clone] = sim.world.view().nodes.filter((node) => node.pool === 'clones');
    expect(clone?.health).toBe('unhealthy');
  });
});

describe('a snapshot', () => {
  async function digests(stop: boolean): Promise<readonly (string | undefined)[]> {
    const fixture = simFixture();
    const { sim, clock, options } = fixture;
    await fixture.pool('web', 1);
    const [node] = sim.world.view().nodes;
    if (stop) await sim.pools.stopNode('web', node?.name ?? '', options);
    await clock.advance(60_000);
    for (const [index, name] of ['one', 'two'].entries()) {
      await sim.disks.createSnapshot({ name, disk: node?.osDisk ?? '', tags: {} }, options);
      await clock.advance(60_000);
      const spec = fixture.versionSpec(`2.0.${index}`, await fixture.seal());
      await sim.gallery.createVersion({ ...spec, source: { kind: 'snapshot', name } }, options);
    }
    await clock.advance(3_600_000);
    return sim.world
      .view()
      .versions.slice(1)
      .map((version) => version.diskDigest);
  }

  it('of a stopped disk is the same however often it is made', async () => {
    const [one, two] = await digests(true);
    expect(one).toBe(two);
  });

  it('of a running one is not', async () => {
    const [one, two] = await digests(false);
    expect(one).not.toBe(two);
  });
});

describe('a model', () => {
  it('cannot go from generalized to specialized images', async () => {
    const fixture = simFixture();
    const { sim, clock, options } = fixture;
    const { model } = await fixture.pool('web', 1);
    const image = { name: 'special', os: 'linux', architecture: 'x64', generation: 2 } as const;
    await sim.gallery.createImage({ ...image, osState: 'specialized' }, options);
    const spec = { ...fixture.versionSpec('1.0.0', await fixture.seal()), image: 'special' };
    await sim.gallery.createVersion(spec, options);
    await clock.advance(3_600_000);
    const change = sim.pools.setModel('web', { ...model, image: 'special' }, {}, options);
    await expect(change).rejects.toMatchObject({ code: 'provider-conflict' });
  });

  it('that comes back makes its nodes current again', async () => {
    const fixture = simFixture();
    const { sim, options } = fixture;
    const { model } = await fixture.pool('web', 1);
    const other = await fixture.publish('2.0.0');
    await sim.pools.setModel('web', other, {}, options);
    expect(sim.world.view().nodes).toMatchObject([{ latestModelApplied: false }]);
    await sim.pools.setModel('web', model, {}, options);
    expect(sim.world.view().nodes).toMatchObject([{ latestModelApplied: true }]);
  });

  it('whose version someone deleted: a reimage fails, and the node keeps what it had', async () => {
    const { sim, clock, options, pool } = simFixture();
    await pool('web', 1);
    const [before] = sim.world.view().nodes;
    sim.world.deleteVersionByOther('node', '1.0.0');
    await sim.pools.reimageNode('web', before?.name ?? '', options);
    await clock.advance(600_000);
    expect(sim.world.view().nodes).toMatchObject([
      {
        state: 'failed',
        imagedAt: before?.imagedAt,
        power: 'running',
        error: { code: 'GalleryImageNotFound' },
      },
    ]);
  });
});

describe('work on a node that is busy', () => {
  it('is refused for now', async () => {
    const { sim, options, pool } = simFixture();
    await pool('web', 1);
    const node = 'web-000000';
    await sim.pools.reimageNode('web', node, options);
    for (const call of [
      sim.pools.stopNode('web', node, options),
      sim.pools.startNode('web', node, options),
      sim.pools.reimageNode('web', node, options),
    ]) {
      await expect(call).rejects.toMatchObject({ code: 'provider-conflict', retryable: true });
    }
  });
});
