// Pages of nodes: every node once, whatever the page sizes of the two lists that are joined.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { NodeRecord, PoolRecord } from '../../../ports/database/fleet.ts';
import type { Page, PageQuery } from '../../../ports/page.ts';
import type { ProviderNode } from '../../../ports/provider/pools.ts';
import { defaultLimits } from '../guard/limits.ts';
import type { DaemonContext } from './context.ts';
import { pageOfAll, pageOfPool } from './node-pages.ts';
import type { NodeView } from './provider-view.ts';

const digest = `sha256:${'0'.repeat(64)}`;

function byName<T extends { readonly name: string }>(
  items: readonly T[],
  query: PageQuery,
  most = query.limit,
): Page<T> {
  const after = items.filter(({ name }) => query.cursor === undefined || name > query.cursor);
  const shown = after.slice(0, Math.min(query.limit, most));
  const last = shown.at(-1);
  return {
    items: shown,
    ...(last === undefined || shown.length === after.length ? {} : { next: last.name }),
  };
}

function poolRecord(name: string): PoolRecord {
  const made = {
    image: 'node',
    version: '1.0.0',
    digest,
    reference: 'node:1.0.0',
    createdAt: '2026-01-01T00:00:00Z',
  };
  return { ...made, name, provider: 'sim', orchestration: 'uniform', size: 's', nodeConfig: '{}' };
}

function nodeRecord(pool: string, index: number): NodeRecord {
  const name = `${pool}-${String(index).padStart(4, '0')}`;
  const made = {
    image: 'node',
    version: '1.0.0',
    digest,
    reference: 'node:1.0.0',
    at: '2026-01-01T00:00:00Z',
  };
  return { ...made, name, pool, machineId: `id-${name}`, schedulable: true };
}

interface World {
  /** Nodes of each pool: recorded, and known to the provider. */
  readonly pools: Readonly<Record<string, number>>;
  readonly missing?: ReadonlySet<string>;
  readonly providerPage?: number;
  readonly providerDown?: boolean;
}

function looking(world: World) {
  let providerCalls = 0;
  const pools = Object.keys(world.pools).sort().map(poolRecord);
  const nodesOf = (pool: string) =>
    Array.from({ length: world.pools[pool] ?? 0 }, (_, n) => nodeRecord(pool, n));
  const fleet = {
    listPools: async (query: PageQuery) => byName(pools, query),
    getPool: async (name: string) => pools.find((pool) => pool.name === name),
    listNodes: async (pool: string, query: PageQuery) => byName(nodesOf(pool), query),
  };
  const sim = {
    pools: {
      async listNodes(pool: string, query: PageQuery) {
        providerCalls += 1;
        if (world.providerDown) throw new Error('away');
        const seen = nodesOf(pool)
          .filter(({ name }) => !world.missing?.has(name))
          .map((node) => ({ ...node, power: 'running', state: 'ready' }) as unknown as ProviderNode);
        return byName(seen, query, world.providerPage);
      },
    },
  };
  const context = { fleet, providers: new Map([['sim', sim]]) } as unknown as DaemonContext;
  const call = { context, limits: defaultLimits, signal: new AbortController().signal };
  return { call, pools, calls: () => providerCalls };
}

async function readAll(
  ask: (cursor: string | undefined) => Promise<Page<NodeView>>,
): Promise<readonly NodeView[]> {
  const all: NodeView[] = [];
  let cursor: string | undefined;
  do {
    const page = await ask(cursor);
    all.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return all;
}

const sizes = fc.integer({ min: 1, max: 25 });

test('every live node comes exactly once, with what the provider says of it', async () => {
  const pools = fc.dictionary(
    fc.constantFrom('a', 'a-b', 'b', 'web', 'web-2'),
    fc.integer({ min: 0, max: 40 }),
  );
  await fc.assert(
    fc.asyncProperty(pools, sizes, sizes, fc.nat(6), async (counts, limit, providerPage, gap) => {
      const names = Object.entries(counts).flatMap(([pool, count]) =>
        Array.from({ length: count }, (_, n) => nodeRecord(pool, n).name),
      );
      const missing = new Set(names.filter((_, index) => gap > 0 && index % (gap + 1) === 0));
      const { call } = looking({ pools: counts, missing, providerPage });
      const all = await readAll((cursor) => pageOfAll(call, { limit, cursor }));
      expect(all.map(({ name }) => name).sort()).toEqual([...names].sort());
      for (const { name, state, power } of all) {
        expect([state, power]).toEqual(missing.has(name) ? ['missing', 'stopped'] : ['ready', 'running']);
      }
    }),
    { numRuns: 60 },
  );
});

test('ten thousand nodes cost a few pages of each list, not a call for each node', async () => {
  const { call, pools, calls } = looking({ pools: { web: 10_000 } });
  const [web] = pools;
  if (web === undefined) throw new Error('no pool');
  const all = await readAll((cursor) => pageOfPool(call, web, { limit: 1000, cursor }));
  expect(all).toHaveLength(10_000);
  expect(calls()).toBeLessThanOrEqual(20);
});

test('a provider that does not answer hides no node', async () => {
  const { call } = looking({ pools: { web: 30 }, providerDown: true });
  const all = await readAll((cursor) => pageOfAll(call, { limit: 7, cursor }));
  expect(all).toHaveLength(30);
  expect(new Set(all.map(({ power, state }) => `${power} ${state}`))).toEqual(new Set(['unknown unknown']));
});

test('a pool that is made or deleted between two pages shifts no other', async () => {
  const first = looking({ pools: { b: 5, c: 5 } });
  const page = await pageOfAll(first.call, { limit: 7 });
  const changed = looking({ pools: { a: 5, c: 5 } });
  const rest = await readAll((cursor) => pageOfAll(changed.call, { limit: 7, cursor: cursor ?? page.next }));
  expect([...page.items, ...rest].map(({ name }) => name)).toEqual([
    ...Array.from({ length: 5 }, (_, n) => nodeRecord('b', n).name),
    ...Array.from({ length: 5 }, (_, n) => nodeRecord('c', n).name),
  ]);
});

test.each(['x', 'e30', Buffer.from('{"list":"nodes","pool":7}').toString('base64url')])(
  'the cursor %j is refused',
  async (cursor) => {
    const { call } = looking({ pools: { web: 1 } });
    await expect(pageOfAll(call, { limit: 1, cursor })).rejects.toMatchObject({ code: 'api-cursor-invalid' });
  },
);
