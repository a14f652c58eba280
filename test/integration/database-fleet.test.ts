// Rule 6: for every node, which version, digest, reference and move it was made from, for ever.
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../src/database/open-database.ts';
import type { NodeRecord } from '../../src/domain/node/node.ts';
import { administer, digestOf, type StoreBench, seedImage, startStoreBench } from '../support/store.ts';

let bench: StoreBench;
let store: Store;

beforeAll(async () => {
  bench = await startStoreBench();
  store = await bench.freshStore({ now: () => Date.parse('2026-06-01T00:00:00.000Z') });
});

afterAll(() => bench.stop());

type NewNode = Omit<NodeRecord, 'goneAt' | 'schedulable'>;

let pools = 0;
function freshName(): string {
  pools += 1;
  return `pool-${pools}`;
}

function day(number: number): string {
  return new Date(Date.UTC(2026, 0, number)).toISOString();
}

function node(
  pool: string,
  name: string,
  machineId: string,
  at: string,
  change: Partial<NewNode> = {},
): NewNode {
  const made = { image: 'node', version: '1.0.0', digest: digestOf(1) };
  return { ...made, name, pool, machineId: `${pool}/${machineId}`, reference: 'node:1.0.0', at, ...change };
}

function pool(name: string) {
  return {
    name,
    provider: 'sim',
    orchestration: 'uniform',
    size: 'small',
    reference: 'node:production',
    follows: 'production',
    image: 'node',
    version: '1.0.0',
    digest: digestOf(1),
    move: 4,
    nodeConfig: '{"a": "ü"}',
  } as const;
}

async function live(name: string): Promise<readonly string[]> {
  const { items } = await store.fleet.listNodes(name, { limit: 1_000 });
  return items.map(({ name: node, machineId, version }) => `${node} ${machineId.split('/')[1]} ${version}`);
}

describe('pools', () => {
  test('are added once; the same again changes nothing, other content is refused', async () => {
    const name = freshName();
    const added = await store.fleet.addPool(pool(name));
    expect(added).toEqual({ ...pool(name), createdAt: '2026-06-01T00:00:00.000Z' });
    expect(await store.fleet.addPool(pool(name))).toEqual(added);
    const others = [{ size: 'large' }, { region: 'westeurope' }, { move: 5 }, { nodeConfig: '{}' }];
    for (const other of others) {
      await expect(store.fleet.addPool({ ...pool(name), ...other })).rejects.toMatchObject({
        code: 'pool-exists',
      });
    }
    expect(await store.fleet.getPool(name)).toEqual(added);
  });

  test('added by many at once with different content: one wins', async () => {
    const name = freshName();
    const results = await Promise.allSettled(
      Array.from({ length: 8 }, (_, index) => store.fleet.addPool({ ...pool(name), size: `size-${index}` })),
    );
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  test('get another model; what it does not follow any more is gone from it', async () => {
    const name = freshName();
    await store.fleet.addPool(pool(name));
    const model = { reference: 'node:1.0.1', image: 'node', version: '1.0.1', digest: digestOf(2) };
    const changed = await store.fleet.setPoolModel(name, model);
    expect(changed).toMatchObject(model);
    expect(changed).not.toHaveProperty('follows');
    expect(changed).not.toHaveProperty('move');
    await expect(store.fleet.setPoolModel(`${name}x`, model)).rejects.toMatchObject({
      code: 'pool-not-found',
      hint: expect.stringContaining(name),
    });
  });

  test('whose channel has moved since their model was made are found, in pages', async () => {
    const other = await bench.freshStore();
    await seedImage(other, 'node', 2);
    const move = async (to: string) => {
      const asked = { image: 'node', channel: 'production', to, by: 'ann', why: 'test' };
      return (await other.catalogue.moveChannel(asked)).id;
    };
    const first = await move('1.0.0');
    await other.fleet.addPool({ ...pool('a'), follows: 'production', move: first });
    await other.fleet.addPool({ ...pool('b'), follows: 'staging', move: first });
    expect(await other.fleet.listBehind({ limit: 5 })).toEqual({ items: [] });
    const second = await move('1.0.1');
    await other.fleet.addPool({ ...pool('c'), follows: 'production', move: second });
    const { move: _move, ...never } = { ...pool('d'), move: first };
    await other.fleet.addPool(never);
    const { follows: _follows, ...pinned } = { ...pool('e'), move: first };
    await other.fleet.addPool(pinned);
    const page = await other.fleet.listBehind({ limit: 1 });
    expect(page.items.map(({ name }) => name)).toEqual(['a']);
    const rest = await other.fleet.listBehind({ limit: 5, cursor: page.next ?? '' });
    expect(rest.items.map(({ name }) => name)).toEqual(['d']);
  });

  test('that follow a channel are found', async () => {
    const other = await bench.freshStore();
    await other.fleet.addPool({ ...pool('b'), follows: 'production' });
    await other.fleet.addPool({ ...pool('a'), follows: 'production' });
    await other.fleet.addPool({ ...pool('c'), follows: 'staging' });
    await other.fleet.addPool({ ...pool('d'), image: 'other' });
    const { follows, ...pinned } = pool('e');
    await other.fleet.addPool(pinned);
    const found = await other.fleet.listFollowers('node', follows);
    expect(found.map(({ name }) => name)).toEqual(['a', 'b']);
    const first = await other.fleet.listPools({ limit: 3 });
    const rest = await other.fleet.listPools({ limit: 3, cursor: first.next ?? '' });
    expect([...first.items, ...rest.items].map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('that are removed leave the records of their nodes, and their name can be used again', async () => {
    const name = freshName();
    await store.fleet.addPool(pool(name));
    await store.fleet.recordNodes([node(name, `${name}-1`, 'm1', day(1))]);
    await store.fleet.removePool(name);
    await store.fleet.removePool(name);
    await store.fleet.removePool('never-was');
    expect(await store.fleet.getPool(name)).toBeUndefined();
    expect(await live(name)).toEqual([]);
    expect(await store.fleet.getNode(`${name}-1`)).toMatchObject({
      version: '1.0.0',
      goneAt: '2026-06-01T00:00:00.000Z',
    });
    await expect(store.fleet.addPool({ ...pool(name), size: 'other' })).resolves.toMatchObject({
      size: 'other',
    });
  });
});

describe('nodes', () => {
  test('are recorded with all that rule 6 asks for', async () => {
    const name = freshName();
    const asked = { reference: 'node:production', channel: 'production', move: 7 };
    const record = node(name, `${name}-1`, 'm1', day(1), asked);
    await store.fleet.recordNodes([record]);
    expect(await store.fleet.getNode(`${name}-1`)).toEqual({ ...record, schedulable: true });
    expect(await store.fleet.getNode('never-was')).toBeUndefined();
  });

  test('recorded again are left as they are, whatever else is said of them', async () => {
    const name = freshName();
    const record = node(name, `${name}-1`, 'm1', day(1));
    await store.fleet.recordNodes([record, record]);
    await store.fleet.recordNodes([{ ...record, version: '9.9.9', reference: 'other' }]);
    expect(await store.fleet.getNode(`${name}-1`)).toEqual({ ...record, schedulable: true });
    await store.fleet.recordNodes([]);
  });

  test('whose disk is made anew get a new record, and the old one stays', async () => {
    const name = freshName();
    await store.fleet.recordNodes([node(name, `${name}-1`, 'm1', day(1))]);
    await store.fleet.recordNodes([node(name, `${name}-1`, 'm1', day(2), { version: '1.0.1' })]);
    expect(await store.fleet.getNode(`${name}-1`)).toMatchObject({ version: '1.0.1', at: day(2) });
    expect(await live(name)).toEqual([`${name}-1 m1 1.0.1`]);
    const kept = await administer(
      store.database.url,
      `select version, at, ended_at from imago.nodes where pool = '${name}' order by at`,
    );
    expect(kept).toEqual([
      { version: '1.0.0', at: day(1), ended_at: day(2) },
      { version: '1.0.1', at: day(2), ended_at: null },
    ]);
  });

  test('that are replaced by a machine of the same name are gone', async () => {
    const name = freshName();
    await store.fleet.recordNodes([node(name, `${name}-1`, 'm1', day(1))]);
    await store.fleet.recordNodes([node(name, `${name}-1`, 'm2', day(2), { version: '1.0.1' })]);
    expect(await live(name)).toEqual([`${name}-1 m2 1.0.1`]);
  });

  test('that were taken for gone and are seen again are live', async () => {
    const name = freshName();
    const record = node(name, `${name}-1`, 'm1', day(1));
    await store.fleet.recordNodes([record]);
    await store.fleet.markGone(name, new Set(), day(3));
    expect(await store.fleet.getNode(`${name}-1`)).toMatchObject({ goneAt: day(3) });
    await store.fleet.recordNodes([record]);
    expect(await store.fleet.getNode(`${name}-1`)).toEqual({ ...record, schedulable: true });
  });

  test('that are gone are marked, the others and other pools are not', async () => {
    const [name, other] = [freshName(), freshName()];
    await store.fleet.recordNodes([
      node(name, `${name}-1`, 'm1', day(1)),
      node(name, `${name}-2`, 'm2', day(9)),
      node(other, `${other}-1`, 'm1', day(1)),
    ]);
    await store.fleet.markGone(name, new Set([`${name}/m1`]), day(3));
    expect(await live(name)).toEqual([`${name}-1 m1 1.0.0`]);
    expect(await live(other)).toHaveLength(1);
    // The provider's clock stands before the node was made: it did not end before it began.
    expect(await store.fleet.getNode(`${name}-2`)).toMatchObject({ goneAt: day(9) });
  });

  test('10,000 are recorded in one go, read in pages, and recorded again without a change', async () => {
    const name = freshName();
    const all = Array.from({ length: 10_000 }, (_, index) =>
      node(name, `${name}-${String(index).padStart(6, '0')}`, `m${index}`, day(1)),
    );
    await store.fleet.recordNodes(all.toReversed());
    const before = await store.events.last();
    await store.fleet.recordNodes(all);
    expect(await store.events.last()).toBe(before);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await store.fleet.listNodes(name, {
        limit: 999,
        ...(cursor === undefined ? {} : { cursor }),
      });
      seen.push(...page.items.map((item) => item.name));
      cursor = page.next;
    } while (cursor !== undefined);
    expect(seen).toEqual(all.map((item) => item.name));
    const alive = new Set(all.slice(0, 9_990).map(({ machineId }) => machineId));
    await store.fleet.markGone(name, alive, day(2));
    expect((await store.fleet.listNodes(name, { limit: 20_000 })).items).toHaveLength(9_990);
  });

  test('of all pools are listed by name, each once, also when two pools have one of the same name', async () => {
    const other = await bench.freshStore();
    const [one, two] = ['one', 'two'].map((name) =>
      Array.from({ length: 5 }, (_, index) => node(name, `n-${index}`, `m${index}`, day(1))),
    );
    await other.fleet.recordNodes([...(one ?? []), ...(two ?? [])]);
    const first = await other.fleet.listNodes(undefined, { limit: 3 });
    const rest = await other.fleet.listNodes(undefined, { limit: 30, cursor: first.next ?? '' });
    const seen = [...first.items, ...rest.items].map((item) => `${item.name} ${item.pool}`);
    expect(seen).toEqual([0, 1, 2, 3, 4].flatMap((index) => [`n-${index} one`, `n-${index} two`]));
  });

  test('however reports are ordered, split and repeated, the live ones are those made last', async () => {
    const report = fc.record({
      name: fc.integer({ min: 0, max: 2 }),
      machine: fc.integer({ min: 0, max: 4 }),
      at: fc.integer({ min: 1, max: 6 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(report, { maxLength: 5 }), { maxLength: 5 }), async (batches) => {
        const name = freshName();
        // A machine keeps its name and a disk is made once at a time: what contradicts that is not reported.
        const nameOf = new Map<number, number>();
        const machineAt = new Map<string, number>();
        const real = batches.map((batch) =>
          batch.filter(({ name: given, machine, at }) => {
            if ((nameOf.get(machine) ?? given) !== given) return false;
            const moment = `${given} ${at}`;
            if ((machineAt.get(moment) ?? machine) !== machine) return false;
            nameOf.set(machine, given);
            machineAt.set(moment, machine);
            return true;
          }),
        );
        for (const batch of real) {
          const nodes = batch.map((item) =>
            node(name, `${name}-${item.name}`, `m${item.machine}`, day(item.at), {
              version: `1.0.${item.at}`,
            }),
          );
          await store.fleet.recordNodes(nodes);
        }
        const newest = new Map<number, { machine: number; at: number }>();
        for (const { name: given, machine, at } of real.flat()) {
          if ((newest.get(given)?.at ?? 0) < at) newest.set(given, { machine, at });
        }
        const expected = [...newest]
          .toSorted(([a], [b]) => a - b)
          .map(([given, { machine, at }]) => `${name}-${given} m${machine} 1.0.${at}`);
        expect(await live(name)).toEqual(expected);
      }),
      { numRuns: 60 },
    );
  });

  test('reported by two at once neither fail nor double', async () => {
    const name = freshName();
    const all = Array.from({ length: 300 }, (_, index) =>
      node(name, `${name}-${index}`, `m${index}`, day(1)),
    );
    const again = all.map((item) => ({ ...item, at: day(2), version: '1.0.1' }));
    await Promise.all(
      [all, all.toReversed(), again, again.toReversed(), all].map((nodes) => store.fleet.recordNodes(nodes)),
    );
    const { items } = await store.fleet.listNodes(name, { limit: 1_000 });
    expect(items).toHaveLength(300);
    expect(items.every(({ version }) => version === '1.0.1')).toBe(true);
  });
});
