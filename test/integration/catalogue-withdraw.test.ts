// Withdrawal: what it takes out, where channels go, what is inherited, and what a restore gives back.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../src/database/open-database.ts';
import { ImagoError } from '../../src/domain/error/imago-error.ts';
import { type Seeded, seed } from '../support/lineage-seed.ts';
import { administer, type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;

beforeAll(async () => {
  bench = await startStoreBench();
});

afterAll(() => bench.stop());

interface World extends Seeded {
  readonly store: Store;
  readonly clock: { now: number };
  withdraw(
    version: string,
    change?: { descendants?: boolean; at?: string; operation?: string; image?: string; reason?: string },
  ): ReturnType<Store['lifecycle']['withdrawals']['withdraw']>;
  restore(version: string, operation?: string): ReturnType<Store['lifecycle']['withdrawals']['restore']>;
  state(version: string, image?: string): Promise<string | undefined>;
  channel(name: string, image?: string): Promise<string | undefined>;
  /** Does all that is due; the versions that are out by it, and those that could not be done. */
  applyDue(): Promise<{ applied: string[]; refused: string[] }>;
}

let count = 0;

async function world(): Promise<World> {
  const clock = { now: Date.parse('2026-03-01T00:00:00Z') };
  const store = await bench.freshStore({ now: () => clock.now });
  const { withdrawals } = store.lifecycle;
  return {
    ...(await seed(store)),
    store,
    clock,
    withdraw(version, { descendants = false, at, operation, image = 'node', reason = 'broken' } = {}) {
      count += 1;
      return withdrawals.withdraw({
        image,
        version,
        reason,
        withDescendants: descendants,
        ...(at === undefined ? {} : { at }),
        by: 'ann',
        operation: operation ?? `op-${count}`,
      });
    },
    restore(version, operation) {
      count += 1;
      return withdrawals.restore(
        { image: 'node', version },
        { by: 'ann', why: 'it was fine', operation: operation ?? `op-${count}` },
      );
    },
    state: async (version, image = 'node') => (await store.catalogue.getVersion(image, version))?.state,
    channel: async (name, image = 'node') => (await store.catalogue.getChannel(image, name))?.version,
    async applyDue() {
      const applied: string[] = [];
      const refused: string[] = [];
      for (const { id, version } of await withdrawals.due()) {
        const outcome = await withdrawals.apply(id).catch((error: ImagoError) => error);
        if (outcome instanceof ImagoError) refused.push(`${version}: ${outcome.code}`);
        else applied.push(...(outcome?.versions ?? []).map((name) => name.version));
      }
      return { applied, refused };
    },
  };
}

describe('channels', () => {
  test('go back to the last good version, in the same moment, and the log says why', async () => {
    const { version, move, withdraw, state, channel, store } = await world();
    for (const number of ['1.0.0', '1.0.1', '1.0.2']) {
      await version(number);
      await move('production', number);
    }
    await withdraw('1.0.1');
    expect(await channel('production')).toBe('1.0.2');
    const { moves } = await withdraw('1.0.2', { operation: 'the-op' });
    expect(moves).toMatchObject([{ channel: 'production', from: '1.0.2', to: '1.0.0', operation: 'the-op' }]);
    expect([await state('1.0.2'), await channel('production'), await channel('latest')]).toEqual([
      'withdrawn',
      '1.0.0',
      '1.0.0',
    ]);
    const log = await store.catalogue.listMoves('node', 'production', { limit: 1 });
    expect(log.items[0]).toMatchObject({ to: '1.0.0', why: 'Withdrawn: broken', by: 'ann' });
  });

  test('a channel without an earlier good version becomes empty, and resolving it fails with the reason', async () => {
    const { version, move, withdraw, restore, state, channel, store } = await world();
    await version('1.0.0');
    await version('1.0.1', { parent: 'node:1.0.0' });
    await move('production', '1.0.1');
    const request = { image: 'node', version: '1.0.0', withDescendants: true };
    const { fallbacks } = await store.lifecycle.withdrawals.plan(request);
    expect(fallbacks).toEqual([{ image: 'node', channel: 'production', from: '1.0.1' }]);
    const { moves } = await withdraw('1.0.0', { descendants: true, reason: 'kubelet crashes' });
    expect(moves).toMatchObject([{ channel: 'production', from: '1.0.1' }]);
    expect(moves[0]?.to).toBeUndefined();
    expect([await state('1.0.1'), await channel('production')]).toEqual(['withdrawn', undefined]);
    await expect(store.catalogue.resolve('node:production')).rejects.toMatchObject({
      code: 'channel-empty',
      message: expect.stringMatching(/is empty since .*: it left 1\.0\.1 \(Withdrawn: kubelet crashes\)/),
      hint: expect.stringContaining('imago channel promote node:VERSION --to production'),
    });
    expect((await restore('1.0.0')).left).toEqual([]);
    expect((await restore('1.0.0').catch(() => undefined))?.left ?? []).toEqual([]);
    await move('production', '1.0.1');
    expect(await channel('production')).toBe('1.0.1');
  });

  test('a restore names the channels that stay empty', async () => {
    const { version, move, withdraw, restore } = await world();
    await version('1.0.0');
    await move('production', '1.0.0');
    await withdraw('1.0.0');
    expect((await restore('1.0.0')).left).toEqual([{ image: 'node', channel: 'production', now: null }]);
  });

  test('a version whose newest test failed is no way back, and not the latest, until it passes again', async () => {
    const { version, move, withdraw, channel, store } = await world();
    const judge = (digest: string, passed: boolean) =>
      store.catalogue.addEvidence({
        ...{ digest, kind: 'test', passed, summary: 'again', details: {}, by: 'test' },
      });
    const made = [];
    for (const number of ['1.0.0', '1.0.1', '1.0.2']) {
      made.push(await version(number));
      await move('production', number);
    }
    await judge(made[1]?.digest ?? '', false);
    await judge(made[2]?.digest ?? '', false);
    expect(await channel('latest')).toBe('1.0.0');
    const back = { image: 'node', channel: 'production', to: '1.0.1', back: true, by: 'ann', why: 'x' };
    await expect(store.catalogue.moveChannel(back)).rejects.toMatchObject({ code: 'channel-untested' });
    await withdraw('1.0.2');
    expect(await channel('production')).toBe('1.0.0');
    await judge(made[1]?.digest ?? '', true);
    expect(await channel('latest')).toBe('1.0.1');
    await judge(made[1]?.digest ?? '', false);
    await withdraw('1.0.0');
    expect(await channel('production')).toBeUndefined();
  });

  test('a promotion while a withdrawal runs: whoever is second sees the first, and no channel points at what is out', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { version, move, withdraw, state, channel } = await world();
      await version('1.0.0');
      await move('production', '1.0.0');
      await version('1.0.1');
      const [promoted] = await Promise.allSettled([move('production', '1.0.1'), withdraw('1.0.1')]);
      expect(await state('1.0.1')).toBe('withdrawn');
      expect(await channel('production')).toBe('1.0.0');
      if (promoted.status === 'rejected')
        expect(promoted.reason).toMatchObject({ code: 'version-withdrawn' });
    }
  });
});

describe('what is asked for', () => {
  test('an empty reason and a version that does not exist or was deleted are refused', async () => {
    const { version, withdraw, store } = await world();
    await version('1.0.0', { candidate: true });
    await expect(withdraw('1.0.0', { reason: ' \t' })).rejects.toMatchObject({ code: 'reason-missing' });
    await expect(withdraw('1.0.9')).rejects.toMatchObject({ code: 'version-not-found' });
    await store.catalogue.setVersionState('node', '1.0.0', 'deleted', { by: 'ann' });
    await expect(withdraw('1.0.0')).rejects.toMatchObject({ code: 'version-state' });
  });

  test('a lost reply: the same operation again answers as the first and adds nothing', async () => {
    const { version, move, withdraw, store } = await world();
    await version('1.0.0');
    await move('production', '1.0.0');
    await version('1.0.1');
    await move('production', '1.0.1');
    const first = await withdraw('1.0.1', { operation: 'same' });
    const again = await withdraw('1.0.1', { operation: 'same' });
    expect(again.versions).toEqual(first.versions);
    expect(again.moves.map(({ id }) => id)).toEqual(expect.arrayContaining(first.moves.map(({ id }) => id)));
    await withdraw('1.0.1', { operation: 'another' });
    expect((await store.lifecycle.withdrawals.of({ image: 'node', version: '1.0.1' })).length).toBe(1);
  });

  test('a row of a withdrawal cannot be changed or deleted, only lifted', async () => {
    const { version, withdraw, store } = await world();
    await version('1.0.0');
    await withdraw('1.0.0');
    for (const statement of ["update imago.withdrawals set reason = 'x'", 'delete from imago.withdrawals']) {
      await expect(administer(store.database.url, `set imago.epoch = 0; ${statement}`)).rejects.toThrow(
        'is kept for ever',
      );
    }
  });
});

describe('at a time', () => {
  test('nothing happens before; then it is applied once, and the channel goes back', async () => {
    const { version, move, withdraw, state, channel, clock, applyDue } = await world();
    await version('1.0.0');
    await move('production', '1.0.0');
    await version('1.0.1');
    await move('production', '1.0.1');
    const { withdrawal, versions } = await withdraw('1.0.1', { at: '2026-06-01' });
    expect([withdrawal.appliedAt, versions]).toEqual([undefined, []]);
    expect(await applyDue()).toEqual({ applied: [], refused: [] });
    expect(await state('1.0.1')).toBe('available');
    clock.now = Date.parse('2026-06-01T00:00:00Z');
    expect(await applyDue()).toEqual({ applied: ['1.0.1'], refused: [] });
    expect([await state('1.0.1'), await channel('production')]).toEqual(['withdrawn', '1.0.0']);
    expect(await applyDue()).toEqual({ applied: [], refused: [] });
  });

  test('one that is restored before its time never happens', async () => {
    const { version, withdraw, restore, state, clock, applyDue } = await world();
    await version('1.0.0');
    await withdraw('1.0.0', { at: '2026-06-01' });
    await restore('1.0.0');
    clock.now = Date.parse('2026-07-01T00:00:00Z');
    expect(await applyDue()).toEqual({ applied: [], refused: [] });
    expect(await state('1.0.0')).toBe('available');
  });

  test('one that empties a channel when it is due is done like the others', async () => {
    const { version, move, withdraw, channel, clock, applyDue } = await world();
    await version('1.0.0');
    await move('production', '1.0.0');
    await version('1.0.1');
    await withdraw('1.0.0', { at: '2026-06-01' });
    await withdraw('1.0.1', { at: '2026-06-02' });
    clock.now = Date.parse('2026-07-01T00:00:00Z');
    expect(await applyDue()).toEqual({ applied: ['1.0.0', '1.0.1'], refused: [] });
    expect(await channel('production')).toBeUndefined();
  });

  test('the earliest date wins: withdrawn now, a later plan changes nothing', async () => {
    const { version, withdraw, store } = await world();
    await version('1.0.0');
    await withdraw('1.0.0', { at: '2026-06-01', reason: 'planned' });
    await withdraw('1.0.0', { reason: 'zero-day' });
    expect(await store.catalogue.getVersion('node', '1.0.0')).toMatchObject({ reason: 'zero-day' });
  });
});

describe('descendants', () => {
  /** 1.0.0 → 1.0.1 → 2.0.0 of another image, and 1.0.9 made from nothing. */
  async function family() {
    const made = await world();
    const first = await made.version('1.0.0');
    await made.version('1.0.9');
    const child = await made.version('1.0.1', { parent: first.digest });
    await made.version('2.0.0', { image: 'gpu', parent: `node@${child.digest}` });
    return made;
  }

  test('stay by default; with them everything made from it goes out, across images and ways to name a parent', async () => {
    const { withdraw, state } = await family();
    await withdraw('1.0.0');
    expect([await state('1.0.1'), await state('2.0.0', 'gpu')]).toEqual(['available', 'available']);
    const { versions } = await withdraw('1.0.0', { descendants: true });
    const names = versions.map(({ image, version }) => `${image}:${version}`);
    expect([names[0], names.toSorted()]).toEqual(['node:1.0.0', ['gpu:2.0.0', 'node:1.0.0', 'node:1.0.1']]);
    expect([await state('1.0.1'), await state('2.0.0', 'gpu'), await state('1.0.9')]).toEqual([
      'withdrawn',
      'withdrawn',
      'available',
    ]);
  });

  test('an inherited withdrawal is lifted only through the ancestor', async () => {
    const { withdraw, restore, state } = await family();
    await withdraw('1.0.0', { descendants: true });
    await expect(restore('1.0.1')).rejects.toMatchObject({
      code: 'withdrawal-inherited',
      hint: expect.stringContaining('imago image restore node:1.0.0'),
    });
    const { restored } = await restore('1.0.0');
    expect(restored.map(({ version }) => version)).toEqual(['1.0.0', '2.0.0', '1.0.1']);
    expect([await state('1.0.0'), await state('1.0.1'), await state('2.0.0', 'gpu')]).toEqual([
      'available',
      'available',
      'available',
    ]);
  });

  test('what was asked for beats what was inherited, and outlives it', async () => {
    const { withdraw, restore, state, store } = await family();
    await withdraw('1.0.0', { descendants: true, reason: 'the ancestor' });
    await withdraw('1.0.1', { reason: 'itself' });
    const reason = async () => (await store.catalogue.getVersion('node', '1.0.1'))?.reason;
    expect(await reason()).toBe('itself');
    await restore('1.0.0');
    expect([await state('1.0.1'), await reason()]).toEqual(['withdrawn', 'itself']);
    await restore('1.0.1');
    expect(await state('1.0.1')).toBe('available');
  });

  test('its own withdrawal lifted, the inherited one still keeps it out', async () => {
    const { withdraw, restore, state, store } = await family();
    await withdraw('1.0.1', { reason: 'itself' });
    await withdraw('1.0.0', { descendants: true, reason: 'the ancestor' });
    const { restored } = await restore('1.0.1');
    expect(restored).toEqual([]);
    expect(await state('1.0.1')).toBe('withdrawn');
    expect(await store.catalogue.getVersion('node', '1.0.1')).toMatchObject({
      reason: 'node:1.0.0 was withdrawn: the ancestor',
    });
  });

  test('one that is made after the withdrawal is taken out too', async () => {
    const { withdraw, version, state, applyDue } = await family();
    await withdraw('1.0.0', { descendants: true });
    await version('1.0.5', { parent: 'node:1.0.1' });
    expect(await state('1.0.5')).toBe('available');
    await applyDue();
    expect(await state('1.0.5')).toBe('withdrawn');
    expect(await applyDue()).toEqual({ applied: [], refused: [] });
  });

  test('one late child makes the withdrawal of its own ancestor due, and no other', async () => {
    const { withdraw, version, store } = await family();
    await withdraw('1.0.9', { descendants: true });
    const { withdrawal } = await withdraw('1.0.0', { descendants: true });
    await version('1.0.5', { parent: 'node:1.0.1' });
    expect((await store.lifecycle.withdrawals.due()).map(({ id }) => id)).toEqual([withdrawal.id]);
  });

  test('what was built from its lock goes out with it; a fix that is built afterwards is good', async () => {
    const { withdraw, version, state, applyDue, clock } = await family();
    await version('1.0.2', { from: 'node:1.0.0' });
    clock.now += 60_000;
    const { versions } = await withdraw('1.0.0', { descendants: true });
    expect(versions.map((one) => one.version)).toContain('1.0.2');
    clock.now += 60_000;
    await version('1.0.3', { from: 'node:1.0.0' });
    expect(await applyDue()).toEqual({ applied: [], refused: [] });
    expect([await state('1.0.2'), await state('1.0.3')]).toEqual(['withdrawn', 'available']);
  });
});

describe('restore', () => {
  test('does not move channels back, and says which ones stayed away', async () => {
    const { version, move, withdraw, restore, channel } = await world();
    await version('1.0.0');
    await move('production', '1.0.0');
    await version('1.0.1');
    await move('production', '1.0.1');
    await withdraw('1.0.1');
    const { left } = await restore('1.0.1');
    expect(left).toEqual([{ image: 'node', channel: 'production', now: '1.0.0' }]);
    expect([await channel('production'), await channel('latest')]).toEqual(['1.0.0', '1.0.1']);
  });

  test('gives back what it was: a candidate, and one whose tests failed meanwhile must be tested anew', async () => {
    const { version, withdraw, restore, state, store } = await world();
    await version('1.0.0', { candidate: true });
    const tested = await version('1.0.1');
    await withdraw('1.0.0');
    await withdraw('1.0.1');
    const failed = {
      digest: tested.digest,
      kind: 'test',
      passed: false,
      summary: 'no boot',
      details: {},
    } as const;
    await store.catalogue.addEvidence({ ...failed, by: 'test' });
    await restore('1.0.0');
    await restore('1.0.1');
    expect([await state('1.0.0'), await state('1.0.1')]).toEqual(['candidate', 'candidate']);
  });

  test('of what is deleted is refused, and its withdrawal stands', async () => {
    const { store, version } = await world();
    for (const number of ['1.0.0', '1.0.1']) await version(number);
    const name = { image: 'node', version: '1.0.0' };
    const { withdrawals, retention } = store.lifecycle;
    await withdrawals.withdraw({
      ...name,
      reason: 'broken',
      withDescendants: false,
      by: 'ann',
      operation: 'w',
    });
    expect(await retention.condemn(name, {}, { by: 'ann', operation: 'p' })).toEqual([]);
    await retention.finish(name, 'ann');
    const restoring = withdrawals.restore(name, { by: 'ann', why: 'fine', operation: 'r' });
    await expect(restoring).rejects.toMatchObject({ code: 'version-state' });
    expect((await withdrawals.of(name)).filter(({ liftedAt }) => liftedAt !== undefined)).toEqual([]);
  });

  test('of what is not withdrawn is refused; a lost reply is answered again', async () => {
    const { version, withdraw, restore } = await world();
    await version('1.0.0');
    await expect(restore('1.0.0')).rejects.toMatchObject({ code: 'version-state' });
    await withdraw('1.0.0');
    const first = await restore('1.0.0', 'same');
    expect(await restore('1.0.0', 'same')).toEqual(first);
  });
});
