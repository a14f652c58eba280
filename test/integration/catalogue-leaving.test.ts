// Random sequences of publish, promote, withdraw, restore, plan ahead, capture, hold and prune, two at a time: after each
// one no channel points at what is out or missing, nothing that is needed is gone, and the log tells the state.
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Store } from '../../src/database/open-database.ts';
import { stateFromMoves } from '../../src/domain/channel/log.ts';
import { ImagoError } from '../../src/domain/error/imago-error.ts';
import { isInForce } from '../../src/domain/withdrawal/withdrawal.ts';
import { type Seeded, seed } from '../support/lineage-seed.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;

beforeAll(async () => {
  bench = await startStoreBench();
});

afterAll(() => bench.stop());

const pick = fc.nat({ max: 5 });
const action = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant('publish' as const), parent: fc.option(pick) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('promote' as const), version: pick }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('withdraw' as const),
      version: pick,
      all: fc.boolean(),
      days: fc.nat(2),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('restore' as const), version: pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('day' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('hold' as const), version: pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pool' as const), version: pick }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('prune' as const), version: pick }) },
);
type Action = typeof action extends fc.Arbitrary<infer T> ? T : never;

interface Played extends Seeded {
  readonly store: Store;
  readonly clock: { now: number };
  readonly numbers: string[];
  count: number;
}

async function play(world: Played, asked: Action): Promise<void> {
  const { store, numbers, clock } = world;
  const { withdrawals, retention } = store.lifecycle;
  world.count += 1;
  const operation = `op-${world.count}`;
  if (asked.do === 'publish') {
    const parent = asked.parent === null ? undefined : numbers[asked.parent];
    const number = `1.0.${world.count}`;
    numbers.push(number);
    await world.version(number, parent === undefined ? {} : { parent: `node:${parent}` });
    return;
  }
  if (asked.do === 'day') {
    clock.now += 86_400_000;
    for (const { id } of await withdrawals.due()) await withdrawals.apply(id);
    return;
  }
  const version = numbers[asked.version];
  if (version === undefined) return;
  const name = { image: 'node', version };
  switch (asked.do) {
    case 'promote':
      await world.move('production', version);
      return;
    case 'withdraw': {
      const at = new Date(clock.now + asked.days * 86_400_000).toISOString();
      const how = { reason: 'broken', withDescendants: asked.all, at, by: 'ann', operation };
      await withdrawals.withdraw({ ...name, ...how });
      return;
    }
    case 'restore':
      await withdrawals.restore(name, { by: 'ann', why: 'fine', operation });
      return;
    case 'hold':
      await retention.hold(name, 'audit', 'ann');
      return;
    case 'pool':
      if ((await store.catalogue.resolve(`node:${version}`)).state !== 'withdrawn') {
        await world.pool(`pool-${world.count}`, `node:${version}`, 1);
      }
      return;
    case 'prune': {
      if ((await retention.condemn(name, {}, { by: 'ann', operation })).length > 0) return;
      if ((await retention.usedBy(name)).length > 0) {
        await retention.reprieve(name, { by: 'ann', why: 'used', operation });
      } else await retention.finish(name, 'ann');
    }
  }
}

/** What must be true whatever was done. */
async function expectRules({ store }: Played): Promise<void> {
  const { items: versions } = await store.catalogue.listVersions('node', { limit: 1000 });
  const states = new Map(versions.map(({ version, state }) => [version, state]));
  for (const channel of await store.catalogue.listChannels('node')) {
    const { items: moves } = await store.catalogue.listMoves('node', channel.name, { limit: 1000 });
    expect(stateFromMoves(moves)?.version).toBe(channel.version);
    if (channel.version !== undefined) expect(states.get(channel.version)).toBe('available');
  }
  for (const { version, state, origin } of versions) {
    const all = await store.lifecycle.withdrawals.of({ image: 'node', version });
    if (state !== 'deleted') expect(state === 'withdrawn').toBe(all.some(isInForce));
    if (state !== 'deleted' && 'parent' in origin && origin.parent !== undefined) {
      expect(states.get(origin.parent.split(':')[1] ?? '')).not.toBe('deleted');
    }
    if (state === 'deleted')
      expect(await store.lifecycle.retention.getHold({ image: 'node', version })).toBeUndefined();
  }
  const pools = await store.fleet.listPools({ limit: 100 });
  for (const { version } of pools.items) expect(states.get(version)).not.toBe('deleted');
}

test('a version is not added if its parent is deleted', async () => {
  const store = await bench.freshStore();
  const world: Played = { ...(await seed(store)), store, clock: { now: 0 }, numbers: [], count: 0 };
  for (const parent of [null, null]) await play(world, { do: 'publish', parent });
  await play(world, { do: 'prune', version: 0 });
  await expect(play(world, { do: 'publish', parent: 0 })).rejects.toMatchObject({ code: 'version-state' });
  await expectRules(world);
  await store.close();
});

test('no sequence leaves a channel on what is out, or deletes what is needed', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(action, fc.option(action)), { minLength: 4, maxLength: 8 }),
      async (pairs) => {
        const clock = { now: Date.parse('2026-01-01T00:00:00Z') };
        const store = await bench.freshStore({ now: () => clock.now });
        const world: Played = { ...(await seed(store)), store, clock, numbers: [], count: 0 };
        await play(world, { do: 'publish', parent: null });
        for (const [first, second] of pairs) {
          const ends = await Promise.allSettled(
            [first, ...(second === null ? [] : [second])].map((one) => play(world, one)),
          );
          for (const end of ends) {
            if (end.status === 'rejected' && !(end.reason instanceof ImagoError)) throw end.reason;
            if (end.status === 'rejected')
              expect(['bug', 'provider', 'timeout']).not.toContain(end.reason.kind);
          }
          await expectRules(world);
        }
        await store.close();
      },
    ),
    { numRuns: 4 },
  );
});
