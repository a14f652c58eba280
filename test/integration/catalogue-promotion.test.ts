// Promotion through gates, on a real store and the simulated cloud: what is refused, what is recorded, and what is
// left when two act at once or the process dies between two writes.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Role } from '../../src/domain/access/roles.ts';
import type { GateResult } from '../../src/domain/channel/decision.ts';
import type { ChannelPolicy, Policy } from '../../src/domain/policy/policy.ts';
import type { OperationRecord } from '../../src/ports/workflow/operation.ts';
import { createProduct, type Product } from '../support/product.ts';
import { digestOf, type StoreBench, seedImage, startStoreBench } from '../support/store.ts';

let bench: StoreBench;
let product: Product;
let digests: readonly string[];

beforeAll(async () => {
  bench = await startStoreBench();
});
afterAll(() => bench.stop());

beforeEach(async () => {
  product = await createProduct(await bench.freshStore());
  await seedImage(product.store, 'node', 3, 'available', { simulated: true });
  digests = [0, 1, 2].map((index) => digestOf(`4${index}`));
});
afterEach(() => product.close());

const catalogue = () => product.store.catalogue;

function promote(version: string, channel: string, more: object = {}): Promise<OperationRecord> {
  const input = { reference: `node:${version}`, channel, why: 'good', ...more };
  return product.run({ kind: 'promote', subject: 'image/node', input });
}

function override(version: string, channel: string, gates: readonly string[]): Promise<OperationRecord> {
  const input = {
    ...{ reference: `node:${version}`, channel, why: 'zero-day' },
    override: { gates, reason: 'the hole is open' },
  };
  return product.run({ kind: 'promote-override', subject: 'image/node', input });
}

async function setPolicy(production: ChannelPolicy): Promise<void> {
  const policy: Policy = { version: 1, channels: { production } };
  const text = JSON.stringify(policy);
  await product.store.promotion.setPolicy({ policy, text, digest: text, by: 'root', why: 'test' });
}

async function approve(by: string, role: Role, digest = digests[1] ?? '', passed = true): Promise<void> {
  await catalogue().addEvidence({
    ...{ digest, kind: 'approval', passed, by },
    summary: passed ? 'approved' : 'refused',
    details: { channel: 'production', role },
  });
}

async function scan(counts: object, digest = digests[1] ?? ''): Promise<void> {
  await catalogue().addEvidence({
    ...{ digest, kind: 'scan', passed: true, by: 'ci', summary: 'scanned' },
    details: { tool: 'trivy', counts: { ...counts } },
  });
}

async function production(): Promise<string | undefined> {
  return (await catalogue().getChannel('node', 'production'))?.version;
}

function gate(operation: OperationRecord, name: string): GateResult | undefined {
  const gates = operation.error?.details?.gates as readonly GateResult[] | undefined;
  return gates?.find((result) => result.gate === name);
}

describe('gates', () => {
  test('without a policy a tested version moves, and the record tells who, why and what was tested', async () => {
    const operation = await promote('1.0.0', 'production');
    expect(operation).toMatchObject({ state: 'succeeded', result: { version: '1.0.0', signed: false } });
    const { items } = await catalogue().listMoves('node', 'production', { limit: 5 });
    expect(items).toMatchObject([
      { by: 'test', why: 'good', to: '1.0.0', operation: operation.id, policy: { passed: true } },
    ]);
    expect(items[0]?.policy?.gates).toMatchObject([{ gate: 'tested', passed: true, evidence: [1] }]);
  });

  test('rule 4: an untested version is refused, and no override helps', async () => {
    await catalogue().addEvidence({
      ...{ digest: digests[2] ?? '', kind: 'test', passed: false, by: 'ci' },
      ...{ summary: '1 of 2 checks passed', details: {} },
    });
    const refused = await promote('1.0.2', 'production');
    expect(refused).toMatchObject({ state: 'failed', error: { code: 'gate-closed' } });
    expect(gate(refused, 'tested')).toMatchObject({ passed: false });
    await expect(override('1.0.2', 'production', ['tested'])).rejects.toMatchObject({
      code: 'override-refused',
    });
    expect(await production()).toBeUndefined();
  });

  test('no scan attached is not passed; the newest one decides; one above the level closes again', async () => {
    await setPolicy({ scan: { noneAbove: 'medium' } });
    expect(gate(await promote('1.0.1', 'production'), 'scan')).toMatchObject({
      value: 'no report is attached',
    });
    await scan({ critical: 0, high: 1, medium: 0, low: 0, unknown: 0 });
    expect(await promote('1.0.1', 'production')).toMatchObject({ error: { code: 'gate-closed' } });
    await scan({ critical: 0, high: 0, medium: 4, low: 0, unknown: 0 });
    expect(await promote('1.0.1', 'production')).toMatchObject({ state: 'succeeded' });
  });

  test('approvals are of distinct people of the role, never of the requester or of the local owner', async () => {
    await setPolicy({ approvals: { count: 2, role: 'publisher' } });
    await approve('ann', 'publisher');
    await approve('ann', 'admin');
    await approve('test', 'admin');
    await approve('local', 'admin');
    await approve('vic', 'viewer');
    expect(gate(await promote('1.0.1', 'production'), 'approvals')).toMatchObject({ value: '1 (ann)' });
    await approve('bob', 'publisher');
    await approve('ann', 'publisher', digests[1], false);
    expect(gate(await promote('1.0.1', 'production'), 'approvals')).toMatchObject({
      value: '1 (bob), refused by ann',
    });
    await approve('ann', 'publisher');
    expect(await promote('1.0.1', 'production')).toMatchObject({ state: 'succeeded' });
  });

  test('a version that was in the channel goes back there without a new approval', async () => {
    await promote('1.0.0', 'production');
    await promote('1.0.1', 'production');
    await setPolicy({ approvals: { count: 2, role: 'publisher' } });
    expect(await promote('1.0.0', 'production', { back: true })).toMatchObject({ state: 'succeeded' });
    expect(await production()).toBe('1.0.0');
  });

  test('a version that entered the channel by an override needs its approvals to go back there', async () => {
    await setPolicy({ approvals: { count: 1, role: 'publisher' } });
    await override('1.0.0', 'production', ['approvals']);
    await approve('ann', 'publisher');
    expect(await promote('1.0.1', 'production')).toMatchObject({ state: 'succeeded' });
    const back = () => promote('1.0.0', 'production', { back: true });
    expect(gate(await back(), 'approvals')).toMatchObject({ passed: false });
    const rollback = { image: 'node', channel: 'production', from: '1.0.1', why: 'broken' };
    await product.run({ kind: 'rollback-channel', subject: 'image/node', input: rollback });
    expect(await production()).toBe('1.0.0');
    expect(await promote('1.0.1', 'production')).toMatchObject({ state: 'succeeded' });
    expect(gate(await back(), 'approvals')).toMatchObject({ passed: false });
  });

  test('age counts in the channel before, and only there', async () => {
    const hour = 3_600_000;
    await setPolicy({ age: { atLeastMs: hour } });
    expect(gate(await promote('1.0.1', 'production'), 'age')).toMatchObject({
      value: 'it never was in staging',
    });
    await promote('1.0.1', 'staging');
    const early = gate(await promote('1.0.1', 'production'), 'age');
    expect(early).toMatchObject({ passed: false });
    const { movedAt = '' } = (await catalogue().getChannel('node', 'staging')) ?? {};
    expect(Date.parse(early?.opensAt ?? '')).toBe(Date.parse(movedAt) + hour);
    await setPolicy({ age: { atLeastMs: 1 } });
    expect(await promote('1.0.1', 'production')).toMatchObject({ state: 'succeeded' });
  });

  test('an override moves through closed gates and stays visible for ever', async () => {
    await setPolicy({ approvals: { count: 1, role: 'publisher' }, scan: { noneAbove: 'none' } });
    expect(await override('1.0.1', 'production', ['scan'])).toMatchObject({ error: { code: 'gate-closed' } });
    expect(await override('1.0.1', 'production', ['scan', 'approvals'])).toMatchObject({
      state: 'succeeded',
    });
    const { items } = await catalogue().listMoves('node', 'production', { limit: 1 });
    expect(items[0]?.policy).toMatchObject({
      passed: true,
      override: { by: 'test', reason: 'the hole is open', gates: ['scan', 'approvals'] },
    });
    expect(items[0]?.policy?.gates.filter(({ overridden }) => overridden).map((one) => one.gate)).toEqual([
      'scan',
      'approvals',
    ]);
  });

  test('a restricted version never reaches a public channel', async () => {
    await catalogue().createChannel({ image: 'node', name: 'public', forTesting: true, public: true });
    const version = await catalogue().reserveNumber('node', 'op', () => '2.0.0');
    await catalogue().addVersion({
      ...{ image: 'node', version, digest: digestOf('r'), diskDigest: digestOf('r'), sizeBytes: 1 },
      ...{ origin: { kind: 'imported', from: 'x' }, restricted: true, operation: 'op' },
      simulated: true,
    });
    await expect(promote('2.0.0', 'public')).resolves.toMatchObject({ error: { code: 'gate-closed' } });
    const move = { image: 'node', channel: 'public', to: '2.0.0', by: 'x', why: 'x' };
    await expect(catalogue().moveChannel(move)).rejects.toMatchObject({ code: 'channel-restricted' });
    expect(await promote('2.0.0', 'staging')).toMatchObject({ state: 'succeeded' });
  });
});

test('of two that sign a move at once the first is the answer; signed anew, every statement is kept', async () => {
  const { promotion } = product.store;
  const statement = (envelope: string) => ({
    ...{ move: 1, digest: digestOf('40'), predicateType: 'urn:test', envelope },
  });
  expect(await promotion.listAttestations(1)).toEqual([]);
  const [one, two] = await Promise.all(['a', 'b'].map((name) => promotion.addAttestation(statement(name))));
  expect(one).toEqual(two);
  expect(await promotion.addAttestation(statement('late'))).toEqual(one);
  const anew = await Promise.all(
    ['c', 'd'].map((name) => promotion.addAttestation(statement(name), one?.id)),
  );
  expect(anew[0]).toEqual(anew[1]);
  expect(await promotion.listAttestations(1)).toEqual([anew[0], one]);
});

describe('bad input', () => {
  test.each([
    ['a channel that does not exist', () => promote('1.0.0', 'prodution'), 'channel-not-found'],
    ['latest, which is managed', () => promote('1.0.0', 'latest'), 'channel-managed'],
    ['a version that does not exist', () => promote('9.9.9', 'production'), 'version-not-found'],
  ])('%s', async (_, run, code) => {
    expect(await run()).toMatchObject({ state: 'failed', error: { code } });
    expect((await catalogue().listMoves('node', undefined, { limit: 9 })).items).toHaveLength(3);
  });

  test('an empty reason is refused before anything is recorded', async () => {
    await expect(promote('1.0.0', 'production', { why: ' ' })).rejects.toMatchObject({
      code: 'input-invalid',
    });
  });

  test('backwards is refused unless it is said', async () => {
    await promote('1.0.1', 'production');
    expect(await promote('1.0.0', 'production')).toMatchObject({ error: { code: 'channel-backwards' } });
    expect(await promote('1.0.0', 'production', { back: true })).toMatchObject({ state: 'succeeded' });
  });
});

describe('at the same time', () => {
  test('two promotions that saw the same channel: one wins, the other is told', async () => {
    const both = await Promise.all([
      promote('1.0.1', 'production', { expect: null }),
      promote('1.0.2', 'production', { expect: null }),
    ]);
    expect(both.map(({ state }) => state).sort()).toEqual(['failed', 'succeeded']);
    expect(both.find(({ state }) => state === 'failed')?.error?.code).toBe('channel-moved');
  });

  test('a withdrawal between gates and move: the move is refused', async () => {
    let done = false;
    product.atPoint = ({ name, moment }) => {
      if (name !== 'step do:move' || moment !== 'before-body' || done) return undefined;
      done = true;
      return 'die';
    };
    product.atDeath = () =>
      catalogue()
        .setVersionState('node', '1.0.1', 'withdrawn', { by: 'x', reason: 'broken' })
        .then(() => undefined);
    expect(await promote('1.0.1', 'production')).toMatchObject({ state: 'failed' });
    expect(await production()).toBeUndefined();
  });

  test('evidence that arrives between decision and move closes the gate', async () => {
    await setPolicy({ scan: { noneAbove: 'medium' } });
    await scan({ critical: 0, high: 0, medium: 0, low: 0, unknown: 0 });
    const version = await catalogue().getVersion('node', '1.0.1');
    const decided = { passed: true, gates: [], evidenceSeen: 4, at: '2026-01-01T00:00:00.000Z' };
    const policy = { ...decided, policy: { id: 1, digest: 'x' } };
    await scan({ critical: 1, high: 0, medium: 0, low: 0, unknown: 0 });
    const move = { image: 'node', channel: 'production', to: '1.0.1', by: 'x', why: 'x', policy };
    await expect(catalogue().moveChannel(move)).rejects.toMatchObject({ code: 'gate-outdated' });
    expect(version?.digest).toBe(digests[1]);
    expect(await production()).toBeUndefined();
  });
});

describe('a process that dies', () => {
  test.each(['resolve', 'gates', 'copies', 'move', 'attest', 'latest'])(
    'around step %s moves the channel once',
    async (step) => {
      const moments = new Set(['before-body', 'after-body', 'after-record']);
      product.atPoint = ({ name, moment }) =>
        name === `step do:${step}` && moments.delete(moment) ? 'die' : undefined;
      expect(await promote('1.0.1', 'production')).toMatchObject({ state: 'succeeded', exceptions: [] });
      expect(moments.size).toBe(0);
      expect((await catalogue().listMoves('node', 'production', { limit: 9 })).items).toHaveLength(1);
    },
  );

  test('around every step of a rollback goes back once, and of a restore gives back once', async () => {
    await promote('1.0.0', 'production');
    await promote('1.0.1', 'production');
    const deaths = new Set<string>();
    product.atPoint = ({ name, moment }) => {
      const point = `${name} ${moment}`;
      if (!name.startsWith('step do:') || deaths.has(point)) return undefined;
      deaths.add(point);
      return 'die';
    };
    const back = { image: 'node', channel: 'production', why: 'broken' };
    expect(await product.run({ kind: 'rollback-channel', subject: 'image/node', input: back })).toMatchObject(
      { state: 'succeeded', exceptions: [] },
    );
    expect(await production()).toBe('1.0.0');
    expect((await catalogue().listMoves('node', 'production', { limit: 9 })).items).toHaveLength(3);
    const rolled = deaths.size;
    expect(rolled).toBeGreaterThan(5);
    const { withdrawals } = product.store.lifecycle;
    const name = { image: 'node', version: '1.0.1' };
    await withdrawals.withdraw({ ...name, reason: 'x', withDescendants: false, by: 'ann', operation: 'w' });
    expect(
      await product.run({ kind: 'restore-version', subject: 'image/node', input: { ...name, why: 'fine' } }),
    ).toMatchObject({ state: 'succeeded', result: { state: 'available' } });
    expect(deaths.size).toBeGreaterThan(rolled);
    expect((await withdrawals.of(name)).map(({ liftedWhy }) => liftedWhy)).toEqual(['fine']);
    expect(await production()).toBe('1.0.0');
  });

  test('after the move, with another move since, does not move the channel back', async () => {
    let died = false;
    product.atPoint = ({ name, moment }) => {
      if (name !== 'step do:move' || moment !== 'after-body' || died) return undefined;
      died = true;
      return 'die';
    };
    product.atDeath = async () => {
      await catalogue().moveChannel({
        ...{ image: 'node', channel: 'production', to: '1.0.2', by: 'bob', why: 'newer' },
      });
    };
    const operation = await promote('1.0.1', 'production');
    expect(operation).toMatchObject({ state: 'succeeded', result: { version: '1.0.1' } });
    expect(await production()).toBe('1.0.2');
  });
});

describe('clocks that differ', () => {
  test('a clock behind the records makes ages short, never negative, and opens nothing early', async () => {
    const url = await bench.freshDatabase();
    const future = await bench.freshStore({ url, now: () => Date.now() + 3_600_000 });
    await seedImage(future, 'node', 1);
    await future.catalogue.moveChannel({
      ...{ image: 'node', channel: 'staging', to: '1.0.0', by: 'x', why: 'x' },
    });
    const other = await createProduct(await bench.freshStore({ url }));
    const policy: Policy = { version: 1, channels: { production: { age: { atLeastMs: 1 } } } };
    await other.store.promotion.setPolicy({ policy, text: 'x', digest: 'x', by: 'root', why: 'test' });
    const operation = await other.run({
      ...{ kind: 'promote', subject: 'image/node' },
      input: { reference: 'node:1.0.0', channel: 'production', why: 'good' },
    });
    expect(gate(operation, 'age')).toMatchObject({ passed: false, value: 'it was there for 0 ms' });
    await other.close();
  });
});

describe('channels', () => {
  test('stand in an order, and a new one is put behind the one that is named', async () => {
    await catalogue().createChannel({
      ...{ image: 'node', name: 'canary', forTesting: false, public: false, after: 'staging' },
    });
    const order = (await catalogue().listChannels('node')).map(({ name }) => name);
    expect(order).toEqual(['staging', 'canary', 'production', 'latest']);
  });

  test('history outlives the channel, and a new one of that name begins empty', async () => {
    const canary = { image: 'node', name: 'canary', forTesting: true, public: false };
    await catalogue().createChannel(canary);
    await promote('1.0.0', 'canary');
    const before = new Date();
    await catalogue().deleteChannel({ image: 'node', channel: 'canary', by: 'ann', why: 'unused' });
    const { items } = await catalogue().listMoves('node', 'canary', { limit: 5 });
    expect(items.map(({ from, to }) => [from, to])).toEqual([
      ['1.0.0', undefined],
      [undefined, '1.0.0'],
    ]);
    expect(await catalogue().resolveAt('node:canary', before)).toMatchObject({ version: '1.0.0' });
    expect(await catalogue().createChannel(canary)).not.toHaveProperty('version');
    await expect(catalogue().resolve('node:canary')).rejects.toMatchObject({ code: 'channel-empty' });
  });

  test('one that pools follow cannot be deleted', async () => {
    await promote('1.0.0', 'production');
    await product.store.fleet.addPool({
      ...{ name: 'web', provider: 'sim', orchestration: 'uniform', size: 's', nodeConfig: '{}' },
      ...{ reference: 'node:production', follows: 'production', image: 'node', version: '1.0.0' },
      digest: digests[0] ?? '',
    });
    const request = { image: 'node', channel: 'production', by: 'ann', why: 'unused' };
    await expect(catalogue().deleteChannel(request)).rejects.toMatchObject({ code: 'channel-in-use' });
  });
});

test('a node config that requires what the image was not seen to have closes the gate', async () => {
  await setPolicy({ nodeConfig: true });
  const config = { schemaVersion: 1, requires: ['component:runc=1.1.14'] };
  await product.store.fleet.addPool({
    ...{ name: 'web', provider: 'sim', orchestration: 'uniform', size: 's' },
    nodeConfig: JSON.stringify(config),
    ...{ reference: 'node:production', follows: 'production', image: 'node', version: '1.0.0' },
    digest: digests[0] ?? '',
  });
  const digest = digests[1] ?? '';
  await product.store.promotion.addComposed('c', {
    ...{ imago: '1', image: 'node', version: '1.0.1', digest, nodeConfig: { schemaVersion: 1, digest: 'x' } },
  });
  const tested = (offers?: object) =>
    catalogue().addEvidence({
      ...{ digest, kind: 'test', passed: true, by: 'ci', composed: 'c', summary: 'booted' },
      details: offers === undefined ? {} : { offers: { ...offers } },
    });
  await tested();
  expect(gate(await promote('1.0.1', 'production'), 'node-config')?.value).toContain('nobody saw');
  await tested({ abilities: [], components: { runc: ['1.1.12'] } });
  expect(gate(await promote('1.0.1', 'production'), 'node-config')).toMatchObject({
    passed: false,
    value: 'it lacks component:runc=1.1.14 for web',
  });
  await tested({ abilities: [], components: { runc: ['1.1.12', '1.1.14'] } });
  expect(await promote('1.0.1', 'production')).toMatchObject({ state: 'succeeded' });
});

test('a node config that the agent cannot read closes the gate', async () => {
  await setPolicy({ nodeConfig: true });
  await product.store.fleet.addPool({
    ...{ name: 'web', provider: 'sim', orchestration: 'uniform', size: 's' },
    nodeConfig: '{"schemaVersion": 2}',
    ...{ reference: 'node:production', follows: 'production', image: 'node', version: '1.0.0' },
    digest: digests[0] ?? '',
  });
  const composed = { imago: '1', image: 'node', version: '1.0.1', digest: digests[1] ?? '' };
  for (const schemaVersion of [1, 2]) {
    const id = `c${schemaVersion}`;
    await product.store.promotion.addComposed(id, {
      ...composed,
      nodeConfig: { schemaVersion, digest: 'x' },
    });
    await catalogue().addEvidence({
      ...{ digest: digests[1] ?? '', kind: 'test', passed: true, by: 'ci', composed: id },
      ...{ summary: `booted ${id}`, details: {} },
    });
    const operation = await promote('1.0.1', 'production');
    if (schemaVersion === 2) expect(operation).toMatchObject({ state: 'succeeded' });
    else
      expect(gate(operation, 'node-config')).toMatchObject({ value: 'schema version 1 is too old for web' });
  }
});
