// A build on a machine, in virtual time: through deaths, cancels, restarts, lost replies and bad input. The judge is the
// sealed disk, which lists every job that ran on it.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Json } from '../../src/domain/value/json.ts';
import { reconcile } from '../../src/operations/reconcile/reconcile.ts';
import type { OperationRecord } from '../../src/ports/workflow/operation.ts';
import { createProduct, type Product } from '../support/product.ts';
import { type StoreBench, startStoreBench } from '../support/store.ts';
import { untilFits } from '../support/until.ts';

let bench: StoreBench;
let product: Product;

beforeAll(async () => {
  bench = await startStoreBench();
});
afterAll(() => bench.stop());

beforeEach(async () => {
  product = await createProduct(await bench.freshStore());
  await build(base);
});
afterEach(() => product.close());

const base = { name: 'plain', numbering: 'semver', components: [] };

type Step = { name: string; run: string; restart?: true; timeoutMs?: number };
const one: Step = { name: 'packages', run: 'sleep 60' };
const two: Step = { name: 'kernel', run: 'sleep 30\necho installed', restart: true };
const three: Step = { name: 'settings', run: 'sleep 10' };

function recipe(steps: readonly Step[] = [one, two, three], more: object = {}): Json {
  return {
    ...{ name: 'made', numbering: 'semver', os: 'linux', architecture: 'x64', method: 'machine' },
    ...{ base: { image: 'plain' }, components: [], settings: {}, steps, ...more },
  } as Json;
}

function build(asked: unknown = recipe(), more: object = {}): Promise<OperationRecord> {
  const { name } = asked as { name: string };
  const input = { recipe: asked, ...more } as Json;
  return product.run({ kind: 'build', subject: `image/${name}`, input });
}

function leftovers() {
  const { machines, snapshots } = product.sim.world.view();
  return { machines: machines.length, captures: snapshots.filter(({ name }) => name.endsWith('-capture')) };
}
const nothing = { machines: 0, captures: [] };

/** The numbers of the steps that ran on the disk that was sealed, in their order. */
async function ranOn(operation: OperationRecord): Promise<readonly string[]> {
  const { digest, image, version } = operation.result as { digest: string; image: string; version: string };
  const spec = { name: 'judge', image, version, digest, size: 'small', firmware: 'direct' } as const;
  await product.sim.machines.createMachine({ ...spec, userData: '', tags: {} }, call);
  const { ran } = product.sim.world.traits('judge');
  await product.sim.machines.deleteMachine('judge', call);
  return (ran ?? []).map((job) => job.replace(/-.*/, ''));
}

const boundaries = ['machine', 'inputs', 'step-1', 'step-2', 'step-3', 'stop', 'build', 'discard'];

describe('a process that dies', () => {
  test.each(boundaries)('around step %s loses no step and repeats none', async (step) => {
    const moments = new Set(['before-body', 'after-body', 'after-record']);
    product.atPoint = ({ name, moment }) =>
      name === `step do:${step}` && moments.delete(moment) ? 'die' : undefined;
    const operation = await build();
    expect(moments.size).toBe(0);
    expect(operation).toMatchObject({ state: 'succeeded', exceptions: [] });
    expect(leftovers()).toEqual(nothing);
    expect(await ranOn(operation)).toEqual(['1', '2', '3']);
  });
});

describe('a cancel', () => {
  test.each(boundaries)('at step %s leaves no machine and makes no version', async (step) => {
    let deaths = 0;
    product.cancelAtDeath = true;
    product.atPoint = ({ name, moment }) =>
      name === `step do:${step}` && moment === 'before-body' && deaths++ === 0 ? 'die' : undefined;
    expect(await build()).toMatchObject({ state: 'cancelled', exceptions: [] });
    expect(leftovers()).toEqual(nothing);
    expect(await product.store.catalogue.getVersion('made', '1.0.0')).toBeUndefined();
  });
});

const calls = [
  'machines.createMachine',
  'machines.runCommand',
  'machines.stopMachine',
  'machines.startMachine',
  'machines.deleteMachine',
  'disks.createSnapshot',
  'disks.deleteSnapshot',
  'disks.sealSnapshot',
  'builder.remember',
] as const;
const faults = ['fails-but-took-effect', 'succeeds-but-did-nothing', 'reply-lost'] as const;

/** Sealing returns the disk itself: where nothing was done, there is nothing to return. */
const struck = calls
  .flatMap((call) => faults.map((kind) => [call, kind] as const))
  .filter(([call, kind]) => call !== 'disks.sealSnapshot' || kind !== 'succeeds-but-did-nothing');

describe('the read decides, whatever the provider said', () => {
  test.each(struck)('%s %s', async (call, kind) => {
    product.sim.faults.add({ call, kind });
    const operation = await build();
    expect(product.sim.faults.list()[0]?.hits).toBe(1);
    expect(operation).toMatchObject({ state: 'succeeded', exceptions: [] });
    expect(leftovers()).toEqual(nothing);
    expect(await ranOn(operation)).toEqual(['1', '2', '3']);
  });
});

const call = { signal: new AbortController().signal, epoch: 0 };

function cached(): number {
  return product.sim.world.view().snapshots.length;
}

function changesOf(operation: OperationRecord, name: string): Json | undefined {
  return operation.steps.find((step) => step.name === name)?.result;
}

/** Someone restarts the machine of the build while its second step runs. */
async function restartInSecondStep(): Promise<void> {
  const { machines, world } = product.sim;
  const { name } = await untilFits(
    async () => world.view().machines[0],
    (machine) => world.traits(machine.name).ran?.some((job) => job.startsWith('2-')) === true,
  );
  await machines.stopMachine(name, call);
  await untilFits(
    () => machines.getMachine(name, call),
    ({ power }) => power === 'stopped',
  );
  await machines.startMachine(name, call);
}

describe('a restart', () => {
  const long: Step = { name: 'long', run: 'sleep 400000', timeoutMs: 10 ** 9 };

  test('that nobody asked for begins the step again, from the disk before it', async () => {
    const [operation] = await Promise.all([build(recipe([one, long, three])), restartInSecondStep()]);
    expect(operation).toMatchObject({ state: 'succeeded', exceptions: [] });
    expect(changesOf(operation, 'step-2')).toMatchObject({ name: 'long', restarts: 1 });
    expect(leftovers()).toEqual(nothing);
    expect(await ranOn(operation)).toEqual(['1', '2', '3']);
  });

  test('in a loop ends the build, and nothing is captured', async () => {
    const operation = await build(recipe([one, { name: 'loop', run: 'reboot' }]));
    expect(operation).toMatchObject({ state: 'failed', exceptions: [] });
    expect(operation.error).toMatchObject({
      code: 'build-failed',
      message: 'The machine restarted in the middle of step loop, 3 times.',
      hint: expect.stringContaining('`restart: true`'),
    });
    expect(leftovers()).toEqual(nothing);
    expect(await product.store.catalogue.getVersion('made', '1.0.0')).toBeUndefined();
  });
});

describe('what cannot be built', () => {
  test.each([
    [
      'a step that fails',
      { run: 'exit 3' },
      /^Step last ended with 3\.$/,
      /imago op show .* --logs.*--keep-failed/,
    ],
    ['a step that never ends', { run: 'sleep infinity', timeoutMs: 60_000 }, /within 1 min/, /`timeout`/],
  ] as const)('%s', async (_, step, message, hint) => {
    const operation = await build(recipe([one, { name: 'last', ...step }]));
    expect(operation).toMatchObject({ state: 'failed', exceptions: [], error: { code: 'build-failed' } });
    expect(operation.error?.message).toMatch(message);
    expect(operation.error?.hint).toMatch(hint);
    expect(leftovers()).toEqual(nothing);
    expect(cached()).toBe(1);
  });

  test('a base that does not exist', async () => {
    const { error } = await build(recipe([one], { base: { image: 'plian' } }));
    expect(error).toMatchObject({
      code: 'image-not-found',
      message: 'There is no image plian.',
      hint: expect.stringContaining('imago image import FILE --name plian'),
    });
  });

  test('a base that is withdrawn since it was locked, or is another one under its number', async () => {
    const first = await build();
    const { lock } = changesOf(first, 'lock') as { lock: { inputs: { kind: string }[] } };
    const other = lock.inputs.map((input) => ({ ...input, sha256: 'f'.repeat(64) }));
    const moved = await build(recipe([three]), { lock: { ...lock, inputs: other } });
    expect(moved.error).toMatchObject({ code: 'lock-stale', hint: expect.stringContaining('--newest') });
    await product.store.catalogue.setVersionState('plain', '1.0.0', 'withdrawn', {
      by: 'ann',
      reason: 'bad',
    });
    const withdrawn = await build(recipe([three]), { lock });
    expect(withdrawn.error).toMatchObject({ code: 'version-withdrawn' });
    expect(leftovers()).toEqual(nothing);
  });
});

describe('the disk after each step', () => {
  test('is kept: only what changed runs again, and the version names its base', async () => {
    const first = await build();
    expect(cached()).toBe(3);
    const changed = await build(recipe([one, two, { ...three, run: 'sleep 11' }]));
    expect(changesOf(changed, 'machine')).toMatchObject({ reused: 2 });
    expect(changesOf(changed, 'step-2')).toMatchObject({ name: 'kernel', reused: true });
    expect(changesOf(changed, 'step-3')).toMatchObject({ name: 'settings', ms: 11_000 });
    expect(await ranOn(changed)).toEqual(['1', '2', '3']);
    const { version } = changed.result as { version: string };
    expect((await product.store.catalogue.getVersion('made', version))?.origin).toMatchObject({
      kind: 'built',
      parent: 'plain:1.0.0',
    });
    const again = await build();
    expect(again.result).toMatchObject({
      reused: true,
      version: (first.result as { version: string }).version,
    });
    expect(changesOf(again, 'machine')).toEqual({});
  });

  test('is another one on another base: the lock keeps the one that it has', async () => {
    const first = await build();
    await build({ ...base, components: [{ name: 'runc', version: '1.1.15' }] });
    const { lock } = changesOf(first, 'lock') as { lock: Json };
    expect((await build(recipe(), { lock })).result).toMatchObject({ reused: true });
    const next = await build();
    expect(changesOf(next, 'machine')).toMatchObject({ reused: 0 });
    const { version } = next.result as { version: string };
    expect((await product.store.catalogue.getVersion('made', version))?.origin).toMatchObject({
      parent: 'plain:1.0.1',
    });
  });
});

test('the disks of old steps are deleted, and all but the newest', async () => {
  await build(recipe(Array.from({ length: 18 }, (_, index) => ({ name: `s${index}`, run: 'sleep 1' }))));
  expect(cached()).toBe(18);
  const pass = (now: number) => reconcile({ ...product.deps, now: () => now }, call.signal);
  const settled = (count: number) =>
    untilFits(
      async () => cached(),
      (left) => left === count,
    );
  const now = product.sim.clock.now();
  await pass(now);
  await settled(16);
  await pass(now + 8 * 24 * 3_600_000);
  await settled(0);
});

test('a failed build keeps its machine for a person who asks for that, for four hours', async () => {
  const bad = recipe([{ name: 'bad', run: 'false' }]);
  const operation = await build(bad, { keepFailed: true });
  expect(operation).toMatchObject({ state: 'failed', exceptions: [] });
  expect(leftovers().machines).toBe(1);
  const journal = { ...product.deps.journal, get: async () => operation };
  const pass = (hours: number) => {
    const now = () => Date.parse(operation.endedAt ?? '') + hours * 3_600_000;
    return reconcile({ ...product.deps, journal, now }, call.signal);
  };
  expect((await pass(3)).removedMachines).toEqual([]);
  expect((await pass(5)).removedMachines).toHaveLength(1);
});
