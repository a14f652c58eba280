// Lineage: from recipe to node to the next version, and which latest a machine was made with, a year later.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../src/database/open-database.ts';
import { lineageMermaid, lineageTree } from '../../src/domain/lineage/text.ts';
import { seed } from '../support/lineage-seed.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;

beforeAll(async () => {
  bench = await startStoreBench();
});

afterAll(() => bench.stop());

function node(store: Store, name: string, version: string, more: object = {}) {
  return store.catalogue.resolve(`node:${version}`).then(({ digest }) =>
    store.fleet.recordNodes([
      {
        ...{ name, pool: 'web', machineId: `m-${name}`, image: 'node', version, digest },
        ...{ reference: 'node:production', channel: 'production', at: '2026-01-01T00:00:00.000Z', ...more },
      },
    ]),
  );
}

describe('the graph', () => {
  test('leads from lock and build over move, pool and donor to the capture and the version made of it', async () => {
    const store = await bench.freshStore();
    const { version, move, pool } = await seed(store);
    await version('1.0.0');
    const moved = await move('production', '1.0.0');
    await pool('web', 'node:production', 0);
    await node(store, 'node-donor', '1.0.0', { move: moved });
    await version('1.0.1', { parent: 'node:1.0.0' });
    await version('1.0.2');
    const found = await store.lifecycle.lineage.ancestry({ image: 'node', version: '1.0.1' });
    expect(found?.items.map(({ version: number }) => number)).toEqual(['1.0.1', '1.0.0']);
    const edges = found?.graph.edges.map(({ from, to }) => `${from} > ${to}`.replace(/[0-9a-f-]{36}/g, 'OP'));
    expect(edges).toEqual(
      expect.arrayContaining([
        'lock/lock-node-1.0.0 > operation/OP',
        'operation/OP > version/node:1.0.0',
        `version/node:1.0.0 > move/${moved}`,
        `move/${moved} > pool/web`,
        'pool/web > node/node-donor',
        'node/node-donor > operation/OP',
        'operation/OP > version/node:1.0.1',
      ]),
    );
    const tree = lineageTree(found?.graph ?? { nodes: [], edges: [] });
    expect(tree.some((line) => line.includes('version node:1.0.1'))).toBe(true);
    expect(lineageMermaid(found?.graph ?? { nodes: [], edges: [] })).toMatch(/^flowchart LR\n {2}n0\[/);
    const down = await store.lifecycle.lineage.descent({ image: 'node', version: '1.0.0' }, true);
    expect(down?.items.map(({ version: number, nodes }) => [number, nodes])).toEqual([
      ['1.0.0', 1],
      ['1.0.1', 0],
    ]);
  });

  test('begins at the commit of the recipe, also when the journal has forgotten the build', async () => {
    const store = await bench.freshStore();
    const { pool } = await seed(store);
    const image = { name: 'node', os: 'linux', architecture: 'x64', numbering: 'semver' } as const;
    await store.catalogue.ensureImage(image);
    const digest = `sha256:${'c'.repeat(64)}`;
    const source = { commit: 'a'.repeat(40), dirty: true };
    await store.catalogue.addVersion({
      ...{
        image: 'node',
        version: '1.0.0',
        digest,
        diskDigest: digest,
        sizeBytes: 1,
        operation: 'forgotten',
      },
      origin: { kind: 'built', lockDigest: 'lock-1', source },
    });
    await pool('web', 'node:1.0.0', 1);
    const found = await store.lifecycle.lineage.ancestry({ image: 'node', version: '1.0.0' });
    const [first, second] = lineageTree(found?.graph ?? { nodes: [], edges: [] });
    expect(first).toBe(`recipe node at ${source.commit} with changes`);
    expect(second).toBe('  locked as lock lock-1');
    expect(await store.lifecycle.lineage.which('web-0')).toMatchObject({ source });
  });

  test('tells two facts of a parent apart: what its channel says now, and whether it is the newest', async () => {
    const store = await bench.freshStore();
    const { version, move } = await seed(store);
    await version('1.0.0');
    const moved = await move('production', '1.0.0');
    await node(store, 'gpu-donor', '1.0.0', { move: moved });
    await version('2.0.0', { image: 'gpu', parent: 'node:1.0.0' });
    const parent = async () =>
      (await store.lifecycle.lineage.ancestry({ image: 'gpu', version: '2.0.0' }))?.items[0]?.parent;
    const channel = (pointsAtParent: boolean) => ({ name: 'production', pointsAtParent });
    expect(await parent()).toEqual({ channel: channel(true), newest: true });
    await version('1.0.1');
    expect(await parent()).toEqual({ channel: channel(true), newest: false });
    await move('production', '1.0.1');
    expect(await parent()).toEqual({ channel: channel(false), newest: false });
    await store.lifecycle.withdrawals.withdraw({
      ...{
        image: 'node',
        version: '1.0.1',
        reason: 'broken',
        withDescendants: false,
        by: 'ann',
        operation: 'w',
      },
    });
    expect(await parent()).toEqual({ channel: channel(true), newest: true });
  });

  test('of a version that names itself as its parent, or one that is not known, it ends', async () => {
    const store = await bench.freshStore();
    const { version } = await seed(store);
    await version('1.0.0', { parent: 'node:1.0.0' });
    await version('1.0.1', { parent: 'gone:9.9.9' });
    const { lineage } = store.lifecycle;
    for (const number of ['1.0.0', '1.0.1']) {
      expect((await lineage.ancestry({ image: 'node', version: number }))?.items).toHaveLength(1);
      expect((await lineage.descent({ image: 'node', version: number }, true))?.items).toHaveLength(1);
    }
    expect(await lineage.ancestry({ image: 'node', version: '3.0.0' })).toBeUndefined();
    expect(await lineage.descent({ image: 'none', version: '3.0.0' }, false)).toBeUndefined();
  });
});

test('which nodes run anything made from a version, in pages', async () => {
  const store = await bench.freshStore();
  const { version, pool, reimage } = await seed(store);
  await version('1.0.0');
  await version('1.0.1', { parent: 'node:1.0.0' });
  await version('1.0.9');
  await pool('old', 'node:1.0.0', 3);
  await pool('new', 'node:1.0.9', 3);
  await reimage('new', '1.0.1');
  const name = { image: 'node', version: '1.0.0' };
  const { lineage } = store.lifecycle;
  const first = await lineage.nodes(name, true, { limit: 4 });
  const rest = await lineage.nodes(name, true, { limit: 4, cursor: first.next ?? '' });
  expect([...first.items, ...rest.items].map((item) => item.name)).toEqual([
    ...['new-0', 'new-1', 'new-2'],
    ...['old-0', 'old-1', 'old-2'],
  ]);
  expect((await lineage.nodes(name, false, { limit: 10 })).items).toHaveLength(3);
  expect(await lineage.poolsOf([name, { image: 'node', version: '1.0.1' }])).toEqual([
    { pool: 'new', model: false, nodes: 3 },
    { pool: 'old', model: true, nodes: 3 },
  ]);
});

test('how many days a pool is behind: counted to the newest available, and 0 for the newest', async () => {
  let now = Date.parse('2026-01-01T00:00:00Z');
  const store = await bench.freshStore({ now: () => now });
  const { version } = await seed(store);
  await version('1.0.0');
  expect(await store.lifecycle.lineage.behind({ image: 'node', version: '1.0.0' })).toEqual({
    ...{ days: 0, versions: 0, newest: '1.0.0' },
  });
  now += 40 * 86_400_000;
  await version('1.0.1');
  now += 10 * 86_400_000;
  await version('1.0.2', { candidate: true });
  const behind = await store.lifecycle.lineage.behind({ image: 'node', version: '1.0.0' });
  expect(behind).toEqual({ days: 40, versions: 1, newest: '1.0.1' });
});

test('story 7: which latest was this machine made with, a year later, when channel move and version are long gone', async () => {
  let now = Date.parse('2026-01-01T00:00:00Z');
  const store = await bench.freshStore({ now: () => now });
  const { version, move } = await seed(store);
  const made = await version('1.0.0');
  const moved = await move('production', '1.0.0');
  await node(store, 'web-1', '1.0.0', { move: moved });
  now += 370 * 86_400_000;
  await version('1.0.1');
  await move('production', '1.0.1');
  await version('1.0.2');
  await move('production', '1.0.2');
  await store.fleet.markGone('web', new Set(), '2026-02-01T00:00:00.000Z');
  const { retention, lineage } = store.lifecycle;
  const name = { image: 'node', version: '1.0.0' };
  expect(await retention.condemn(name, {}, { by: 'ann', operation: 'p' })).toEqual([]);
  await retention.finish(name, 'ann');
  const later = { machineId: 'm-2', at: '2026-12-01T00:00:00.000Z', move: moved + 2 };
  await node(store, 'web-1', '1.0.2', later);
  expect(await lineage.which('web-1', '2026-01-15T00:00:00Z')).toMatchObject({
    ...{ version: '1.0.0', digest: made.digest, reference: 'node:production', channel: 'production' },
    ...{ move: moved, versionState: 'deleted', goneAt: '2026-02-01T00:00:00.000Z' },
    moved: { by: 'test', why: 'test', at: '2026-01-01T00:00:00.000Z' },
  });
  expect(await lineage.which('web-1')).toMatchObject({ version: '1.0.2', versionState: 'available' });
  expect(await lineage.which('web-1', '2026-06-01T00:00:00Z')).toBeUndefined();
  expect(await lineage.which('web-9')).toBeUndefined();
});
