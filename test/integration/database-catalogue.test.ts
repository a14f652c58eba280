// The catalogue: numbers are never used again, channels are moved by one at a time, `latest` is always right.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Store } from '../../src/database/open-database.ts';
import type { VersionRecord } from '../../src/domain/image/version.ts';
import type { Page, PageQuery } from '../../src/ports/page.ts';
import { digestOf, makeAvailable, type StoreBench, seedImage, startStoreBench } from '../support/store.ts';

let bench: StoreBench;

beforeAll(async () => {
  bench = await startStoreBench();
});

afterAll(() => bench.stop());

const image = { name: 'node', os: 'linux', architecture: 'x64', numbering: 'semver' } as const;

function version(number: string, change: Partial<VersionRecord> = {}) {
  return {
    image: 'node',
    version: number,
    digest: digestOf(number.replaceAll('.', '')),
    diskDigest: digestOf(1),
    sizeBytes: 2 ** 40,
    origin: { kind: 'built', lockDigest: `lock-${number}` },
    kubernetes: '1.34.2',
    operation: `op-${number}`,
    ...change,
  } as const;
}

async function freshImage(): Promise<Store> {
  const store = await bench.freshStore();
  await store.catalogue.ensureImage(image);
  return store;
}

async function allOf<T>(list: (query: PageQuery) => Promise<Page<T>>, limit: number): Promise<T[]> {
  const items: T[] = [];
  let next: string | undefined;
  do {
    const page = await list({ limit, ...(next === undefined ? {} : { cursor: next }) });
    items.push(...page.items);
    next = page.next;
  } while (next !== undefined);
  return items;
}

describe('images', () => {
  test('made by many at once there is one, with its usual channels', async () => {
    const { catalogue } = await bench.freshStore();
    for (let round = 0; round < 20; round += 1) {
      const name = round === 0 ? 'node' : `node-${round}`;
      const made = await Promise.all(
        Array.from({ length: 10 }, () => catalogue.ensureImage({ ...image, name })),
      );
      expect(new Set(made.map(({ createdAt }) => createdAt)).size).toBe(1);
    }
    expect(
      (await catalogue.listChannels('node')).map(({ name, forTesting, managed }) => [
        name,
        forTesting,
        managed,
      ]),
    ).toEqual([
      ['staging', true, false],
      ['production', false, false],
      ['latest', false, true],
    ]);
  });

  test('asked for again with other properties, the one there is stays as it is', async () => {
    const { catalogue } = await freshImage();
    const again = await catalogue.ensureImage({ ...image, os: 'windows', numbering: 'date' });
    expect(again).toMatchObject(image);
  });

  test('are listed by name, in pages', async () => {
    const { catalogue } = await bench.freshStore();
    const names = ['b-1', 'b', 'a10', 'a-9', 'a9', 'c'];
    for (const name of names) await catalogue.ensureImage({ ...image, name });
    const listed = await allOf((query) => catalogue.listImages(query), 2);
    expect(listed.map(({ name }) => name)).toEqual(names.toSorted());
    expect(await catalogue.getImage('d')).toBeUndefined();
  });
});

describe('rule 5: a number is never used again', () => {
  test('many operations at once get different numbers; one that asks again gets its own', async () => {
    const { catalogue } = await freshImage();
    const reserve = (operation: number) =>
      catalogue.reserveNumber('node', `op-${operation}`, (used) => `1.0.${used.length}`);
    const numbers = await Promise.all([0, 1, 2, 3, 4, 5, 6, 7, 3, 4].map(reserve));
    expect(new Set(numbers.slice(0, 8)).size).toBe(8);
    expect(numbers.slice(8)).toEqual([numbers[3], numbers[4]]);
  });

  test('a number that was taken is refused, whoever chose it', async () => {
    const { catalogue } = await freshImage();
    await catalogue.reserveNumber('node', 'one', () => '1.0.0');
    await expect(catalogue.reserveNumber('node', 'two', () => '1.0.0')).rejects.toMatchObject({
      code: 'number-taken',
    });
    await expect(catalogue.reserveNumber('node', 'two', () => '1.0')).rejects.toMatchObject({
      code: 'number-malformed',
    });
    await expect(catalogue.addVersion(version('1.0.0', { operation: 'two' }))).rejects.toMatchObject({
      code: 'number-taken',
    });
  });

  test('what the chooser throws is passed on, and nothing is taken', async () => {
    const { catalogue } = await freshImage();
    const failing = catalogue.reserveNumber('node', 'one', () => {
      throw new Error('no number left');
    });
    await expect(failing).rejects.toThrow('no number left');
    expect(await catalogue.reserveNumber('node', 'two', (used) => `0.0.${used.length}`)).toBe('0.0.0');
  });

  test('after its version was taken back it stays used, and stands for the same content only', async () => {
    const { catalogue } = await freshImage();
    const first = version('1.0.0');
    await catalogue.addVersion(first);
    await catalogue.dropVersion('node', '1.0.0');
    await catalogue.dropVersion('node', '1.0.0');
    await catalogue.dropVersion('nothing', '1.0.0');
    expect(await catalogue.getVersion('node', '1.0.0')).toBeUndefined();
    const used = await catalogue.reserveNumber('node', 'next', (all) => {
      expect(all).toEqual(['1.0.0']);
      return '1.0.1';
    });
    expect(used).toBe('1.0.1');
    for (const other of [{ digest: digestOf(9) }, { operation: 'another' }]) {
      await expect(catalogue.addVersion({ ...first, ...other })).rejects.toMatchObject({
        code: 'number-taken',
      });
    }
    await expect(catalogue.addVersion(first)).resolves.toMatchObject({ state: 'candidate' });
  });
});

describe('versions', () => {
  test('are added once; the same again changes nothing, other content is refused', async () => {
    const { catalogue } = await freshImage();
    const added = await catalogue.addVersion(version('1.0.0'));
    expect(added).toEqual({ ...version('1.0.0'), state: 'candidate', createdAt: added.createdAt });
    const again = await catalogue.addVersion(version('1.0.0', { operation: 'other', sizeBytes: 3 }));
    expect(again).toEqual(added);
    await expect(catalogue.addVersion(version('1.0.0', { digest: digestOf(5) }))).rejects.toMatchObject({
      code: 'number-taken',
    });
    await expect(catalogue.addVersion({ ...version('1.0.1'), image: 'nod' })).rejects.toMatchObject({
      code: 'image-not-found',
      hint: expect.stringContaining('`node`'),
    });
  });

  test('are listed by number, greatest first, in pages', async () => {
    const { catalogue } = await freshImage();
    const numbers = ['1.9.0', '1.10.0', '0.99.99', '1.10.1', '2026.11.15', '1.9.10', '1.9.2'];
    for (const number of numbers) await catalogue.addVersion(version(number));
    const listed = await allOf((query) => catalogue.listVersions('node', query), 2);
    expect(listed.map((item) => item.version)).toEqual([
      '2026.11.15',
      '1.10.1',
      '1.10.0',
      '1.9.10',
      '1.9.2',
      '1.9.0',
      '0.99.99',
    ]);
    expect(await catalogue.listVersions('nothing', { limit: 5 })).toEqual({ items: [] });
  });

  test('are found by digest and by lock: the newest that was not deleted', async () => {
    const { catalogue } = await freshImage();
    const origin = { kind: 'built', lockDigest: 'lock' } as const;
    for (const number of ['1.0.2', '1.0.1', '1.0.0']) {
      await catalogue.addVersion(version(number, { digest: digestOf(7), origin }));
    }
    expect(await catalogue.findVersionByLock('node', 'lock')).toMatchObject({ version: '1.0.0' });
    await catalogue.setVersionState('node', '1.0.0', 'deleted', { by: 'ann' });
    expect(await catalogue.findVersionByLock('node', 'lock')).toMatchObject({ version: '1.0.1' });
    expect(await catalogue.findVersionByDigest('node', digestOf(7))).toMatchObject({ version: '1.0.1' });
    await catalogue.setVersionState('node', '1.0.1', 'withdrawn', { by: 'ann', reason: 'broken' });
    expect(await catalogue.findVersionByDigest('node', digestOf(7))).toMatchObject({ version: '1.0.2' });
    expect(await catalogue.findVersionByLock('node', 'other')).toBeUndefined();
    expect((await catalogue.listByLocks(['lock', 'other'])).toSorted(byVersion)).toEqual([
      { image: 'node', version: '1.0.1', state: 'withdrawn', lockDigest: 'lock' },
      { image: 'node', version: '1.0.2', state: 'candidate', lockDigest: 'lock' },
    ]);
    expect(await catalogue.listByLocks([])).toEqual([]);
    expect(await catalogue.findVersionByDigest('node', digestOf(8))).toBeUndefined();
  });

  test('under a clock that stands still and runs backwards, each is newer than the one before', async () => {
    let now = Date.parse('2026-12-31T23:59:59.999Z');
    const store = await bench.freshStore({ now: () => now });
    await store.catalogue.ensureImage(image);
    const times: string[] = [];
    for (const number of ['1.0.0', '1.0.1', '1.0.2', '1.0.3']) {
      const { createdAt, digest } = await store.catalogue.addVersion(version(number));
      await makeAvailable(store, 'node', number, digest);
      times.push(createdAt);
      expect(await store.catalogue.resolve('node:latest')).toMatchObject({ version: number });
      expect(await store.catalogue.resolve('node')).toMatchObject({ version: number });
      if (number !== '1.0.0') now -= 86_400_000;
    }
    expect(new Set(times).size).toBe(4);
    expect(times).toEqual(times.toSorted());
    const moves = await store.catalogue.listMoves('node', 'latest', { limit: 10 });
    const moved = moves.items.map(({ at }) => at).toReversed();
    expect(moved).toEqual(moved.toSorted());
    expect(new Set(moved).size).toBe(4);
  });
});

describe('rule 4: nothing untested is reachable', () => {
  test('a version becomes available only when a test of its digest has passed', async () => {
    const { catalogue } = await freshImage();
    const { digest } = await catalogue.addVersion(version('1.0.0'));
    const makeIt = () => catalogue.setVersionState('node', '1.0.0', 'available', { by: 'ann' });
    await expect(makeIt()).rejects.toMatchObject({ code: 'version-untested' });
    const test = { kind: 'test', summary: 's', details: null, by: 'ann' } as const;
    await catalogue.addEvidence({ ...test, digest: digestOf(99), passed: true });
    await catalogue.addEvidence({ ...test, digest, passed: false });
    await expect(makeIt()).rejects.toMatchObject({ code: 'version-untested' });
    await catalogue.addEvidence({ ...test, digest, passed: true });
    await expect(makeIt()).resolves.toMatchObject({ state: 'available' });
    await expect(makeIt()).resolves.toMatchObject({ state: 'available' });
  });

  test('a candidate reaches staging and no other channel', async () => {
    const { catalogue } = await freshImage();
    await catalogue.addVersion(version('1.0.0'));
    const to = (channel: string) =>
      catalogue.moveChannel({ image: 'node', channel, to: '1.0.0', by: 'ann', why: 'try' });
    await expect(to('staging')).resolves.toMatchObject({ to: '1.0.0' });
    await expect(to('production')).rejects.toMatchObject({ code: 'channel-untested' });
    await expect(to('latest')).rejects.toMatchObject({ code: 'channel-managed' });
    await expect(to('produktion')).rejects.toMatchObject({
      code: 'channel-not-found',
      hint: expect.stringContaining('node:production'),
    });
    expect((await catalogue.listMoves('node', undefined, { limit: 10 })).items).toHaveLength(1);
  });
});

describe('latest', () => {
  test('follows what becomes available, withdrawn and restored, and every move is recorded', async () => {
    const store = await freshImage();
    const { catalogue } = store;
    const [first = '', second = ''] = await seedImage(store, 'node', 2);
    const points = async () => (await catalogue.getChannel('node', 'latest'))?.version;
    expect(await points()).toBe(second);
    await catalogue.setVersionState('node', second, 'withdrawn', { by: 'ann', reason: 'does not boot' });
    expect(await points()).toBe(first);
    await catalogue.setVersionState('node', first, 'withdrawn', { by: 'ann', reason: 'neither' });
    expect(await points()).toBeUndefined();
    await expect(catalogue.resolve('node:latest')).rejects.toMatchObject({ code: 'channel-empty' });
    const restored = await catalogue.setVersionState('node', first, 'available', { by: 'bob' });
    expect(restored).not.toHaveProperty('reason');
    expect(restored).not.toHaveProperty('withdrawnFrom');
    const { items } = await catalogue.listMoves('node', 'latest', { limit: 10 });
    expect(items.map(({ from, to, by, why }) => [from, to, by, why])).toEqual([
      [undefined, first, 'bob', `node:${first} became available`],
      [first, undefined, 'ann', 'neither'],
      [second, first, 'ann', 'does not boot'],
      [first, second, 'test', `node:${second} became available`],
      [undefined, first, 'test', `node:${first} became available`],
    ]);
  });

  test('is right whatever order versions change in at the same time', async () => {
    const store = await freshImage();
    const numbers = await seedImage(store, 'node', 6);
    const { catalogue } = store;
    await Promise.all(
      numbers
        .slice(2)
        .map((number) =>
          catalogue.setVersionState('node', number, 'withdrawn', { by: 'ann', reason: 'all of them' }),
        ),
    );
    expect(await catalogue.resolve('node:latest')).toMatchObject({ version: numbers[1] });
  });
});

describe('moves', () => {
  test('two promotions at once that expect the same: one wins, the other is told', async () => {
    const store = await freshImage();
    const numbers = await seedImage(store, 'node', 8);
    const results = await Promise.allSettled(
      numbers.map((to) =>
        store.catalogue.moveChannel({
          image: 'node',
          channel: 'production',
          to,
          expect: null,
          by: 'ann',
          why: 'go',
        }),
      ),
    );
    const won = results.filter((result) => result.status === 'fulfilled');
    expect(won).toHaveLength(1);
    for (const result of results) {
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ code: 'channel-moved' });
    }
    const channel = await store.catalogue.getChannel('node', 'production');
    expect(channel).toMatchObject({ version: won[0]?.value.to, move: won[0]?.value.id });
  });

  test('to where it points already returns the last move, and records nothing', async () => {
    const store = await freshImage();
    const [to = ''] = await seedImage(store, 'node', 1);
    const request = { image: 'node', channel: 'production', to, by: 'ann', why: 'first' } as const;
    const move = await store.catalogue.moveChannel(request);
    expect(await store.catalogue.moveChannel({ ...request, expect: null, by: 'bob', why: 'again' })).toEqual(
      move,
    );
    expect((await store.catalogue.listMoves('node', 'production', { limit: 5 })).items).toEqual([move]);
  });

  test('the log alone tells where every channel points', async () => {
    const store = await freshImage();
    const numbers = await seedImage(store, 'node', 4);
    await Promise.all(
      Array.from({ length: 30 }, (_, index) =>
        store.catalogue.moveChannel({
          image: 'node',
          channel: index % 2 === 0 ? 'production' : 'staging',
          to: numbers[index % numbers.length] ?? '',
          by: 'ann',
          why: `${index}`,
        }),
      ),
    );
    const moves = await allOf((query) => store.catalogue.listMoves('node', undefined, query), 7);
    expect(moves.map(({ id }) => id)).toEqual(moves.map(({ id }) => id).toSorted((a, b) => b - a));
    for (const channel of await store.catalogue.listChannels('node')) {
      const log = moves.filter(({ channel: name }) => name === channel.name);
      expect(channel).toMatchObject({ version: log[0]?.to, move: log[0]?.id, digest: log[0]?.toDigest });
      for (const [index, move] of log.entries()) expect(move.from).toBe(log[index + 1]?.to);
    }
  });
});

describe('rule 7: what something needs is not taken away', () => {
  test('a candidate that a channel, pool or node ever named is not taken back', async () => {
    const { catalogue, fleet } = await freshImage();
    for (const number of ['1.0.0', '1.0.1', '1.0.2', '1.0.3']) await catalogue.addVersion(version(number));
    const move = (to: string) =>
      catalogue.moveChannel({ image: 'node', channel: 'staging', to, by: 'ann', why: 'try' });
    await move('1.0.0');
    await move('1.0.1');
    const made = { image: 'node', digest: digestOf(1), reference: 'node' };
    const pool = { provider: 'sim', orchestration: 'uniform', size: 's', nodeConfig: '' } as const;
    await fleet.addPool({ ...pool, ...made, name: 'web', version: '1.0.2' });
    const node = { ...made, pool: 'db', name: 'db-1', machineId: 'm', at: '2026-01-01T00:00:00.000Z' };
    await fleet.recordNodes([{ ...node, version: '1.0.3' }]);
    await fleet.markGone('db', new Set(), '2026-01-02T00:00:00.000Z');
    for (const number of ['1.0.0', '1.0.1', '1.0.2', '1.0.3']) {
      await expect(catalogue.dropVersion('node', number), number).rejects.toMatchObject({
        code: 'version-state',
      });
    }
    const remove = (number: string) => catalogue.setVersionState('node', number, 'deleted', { by: 'ann' });
    for (const number of ['1.0.1', '1.0.2']) {
      await expect(remove(number), number).rejects.toMatchObject({ code: 'version-state' });
    }
    await expect(remove('1.0.0')).resolves.toMatchObject({ state: 'deleted' });
    await expect(remove('1.0.3')).resolves.toMatchObject({ state: 'deleted' });
  });

  test('a version that was tested is not taken back', async () => {
    const store = await freshImage();
    const [number = ''] = await seedImage(store, 'node', 1);
    await expect(store.catalogue.dropVersion('node', number)).rejects.toMatchObject({
      code: 'version-state',
    });
  });
});

test('evidence that an operation gives again is stored once; that of another one is more evidence', async () => {
  const { catalogue } = await freshImage();
  const evidence = {
    digest: digestOf(1),
    kind: 'test',
    passed: true,
    summary: 'booted',
    details: { checks: [{ name: 'kubelet', ok: true }], none: null },
    by: 'ann',
    operation: 'op-1',
  } as const;
  const [first, ...others] = await Promise.all(
    Array.from({ length: 5 }, () => catalogue.addEvidence(evidence)),
  );
  for (const other of others) expect(other).toEqual(first);
  await catalogue.addEvidence({ ...evidence, operation: 'op-2' });
  await catalogue.addEvidence({ ...evidence, passed: false });
  const { operation, ...approval } = evidence;
  await catalogue.addEvidence(approval);
  await catalogue.addEvidence(approval);
  const stored = await catalogue.listEvidence(digestOf(1));
  expect(stored.map((item) => [item.operation, item.passed])).toEqual([
    [operation, true],
    ['op-2', true],
    [operation, false],
    [undefined, true],
    [undefined, true],
  ]);
  expect(stored[0]).toMatchObject({ details: evidence.details });
});

describe('resolve', () => {
  test('answers names, versions, digests and channels, and says which move answered', async () => {
    const store = await freshImage();
    const { catalogue } = store;
    const [first = '', second = ''] = await seedImage(store, 'node', 2);
    const third = await catalogue.addVersion(version('0.0.9'));
    const move = await catalogue.moveChannel({
      image: 'node',
      channel: 'production',
      to: first,
      by: 'ann',
      why: 'go',
    });
    expect(await catalogue.resolve('node:production')).toEqual({
      reference: 'node:production',
      image: 'node',
      version: first,
      digest: move.toDigest,
      state: 'available',
      channel: 'production',
      move: move.id,
    });
    expect(await catalogue.resolve('node')).toMatchObject({ version: third.version, state: 'candidate' });
    expect(await catalogue.resolve(`node:${second}`)).toMatchObject({ version: second });
    expect(await catalogue.resolve(`node@${move.toDigest}`)).toMatchObject({ version: first });
    await catalogue.setVersionState('node', first, 'withdrawn', { by: 'ann', reason: 'broken' });
    expect(await catalogue.resolve('node:production')).toMatchObject({ version: first, state: 'withdrawn' });
  });

  test.each([
    ['nod', 'image-not-found', '`node`'],
    ['node:prod', 'channel-not-found', 'node:production'],
    ['node:staging', 'channel-empty', 'promote'],
    ['node:1.0.7', 'version-not-found', 'node:1.0.1'],
    [`node@${digestOf(3)}`, 'version-not-found', 'imago image list node'],
    ['Node', 'reference-malformed', '`node`'],
  ])('%s is %s, with what is near', async (reference, code, hint) => {
    const store = await freshImage();
    await seedImage(store, 'node', 2);
    await expect(store.catalogue.resolve(reference)).rejects.toMatchObject({
      code,
      hint: expect.stringContaining(hint),
    });
  });
});

function byVersion(a: { readonly version: string }, b: { readonly version: string }): number {
  return a.version < b.version ? -1 : 1;
}
