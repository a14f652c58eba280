// What operations promise, whatever fails: one example for each promise.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ImagoError } from '../../../src/domain/error/imago-error.ts';
import type { OperationKind, Step } from '../../../src/ports/workflow/operation.ts';
import {
  createFaultyWorld,
  type Fault,
  type FaultyWorld,
  makeThings,
  never,
  thingStep,
} from './faulty-world.ts';
import { createLab, type Lab, type LabOptions } from './memory-lab.ts';

const names = ['a', 'b', 'c', 'd'];
const labs: Lab[] = [];

afterEach(async () => {
  for (const lab of labs.splice(0)) await lab.close();
});

function openLab(options: LabOptions): Lab {
  const lab = createLab(options);
  labs.push(lab);
  return lab;
}

function labOf(
  world: FaultyWorld,
  kinds: () => readonly OperationKind<unknown>[] = () => [makeThings(world)],
): Lab {
  return openLab({ world, kinds });
}

function kindOf(kind: string, steps: readonly Step<unknown>[], rest: Partial<OperationKind<unknown>> = {}) {
  return {
    kind,
    parse: (input) => input,
    plan: async () => [],
    steps: () => steps,
    ...rest,
  } as OperationKind<unknown>;
}

function order(world: FaultyWorld, call: string, ...faults: Fault[]): void {
  world.ordered.set(call, faults);
}

function states(lab: Lab, id: string): Record<string, string> {
  return Object.fromEntries(lab.record(id).steps.map((step) => [step.name, step.state]));
}

describe('an operation', () => {
  it('does its steps in order and ends with the last one’s result', async () => {
    const world = createFaultyWorld();
    const lab = labOf(world);
    await lab.submit({ id: 'one', input: names });
    const record = await lab.ended('one');
    expect(record).toMatchObject({ state: 'succeeded', result: { made: 'd' }, exceptions: [] });
    expect(record.currentStep).toBeUndefined();
    expect(world.calls.filter((call) => call.startsWith('do'))).toEqual(['do a', 'do b', 'do c', 'do d']);
    expect(states(lab, 'one')).toEqual({ a: 'done', b: 'done', c: 'done', d: 'done' });
    expect(record.steps.every((step) => step.startedAt !== undefined && step.endedAt !== undefined)).toBe(
      true,
    );
  });

  it('skips what was so before, and does not undo it', async () => {
    const world = createFaultyWorld([['b', 'someone else']]);
    order(world, 'do d', 'fails for good');
    const lab = labOf(world);
    await lab.submit({ id: 'one', input: names });
    expect((await lab.ended('one')).state).toBe('failed');
    expect(states(lab, 'one')).toEqual({ a: 'undone', b: 'skipped', c: 'undone', d: 'undone' });
    expect([...world.things]).toEqual([['b', 'someone else']]);
  });

  it('counts as done what an earlier process had begun, so that it is undone', async () => {
    const world = createFaultyWorld();
    order(world, 'do b', 'dies after');
    order(world, 'do d', 'fails for good');
    const lab = labOf(world);
    await lab.submit({ id: 'one', input: names });
    const record = await lab.ended('one');
    expect(record).toMatchObject({ state: 'failed', error: { code: 'provider-quota' } });
    expect(world.things.size).toBe(0);
    expect(world.calls.filter((call) => call === 'do b')).toHaveLength(1);
  });

  it('believes the read when the provider said no', async () => {
    const world = createFaultyWorld();
    order(world, 'do a', 'fails after the effect');
    order(world, 'do b', 'fails for good');
    const lab = labOf(world);
    world.onCall = (call) => {
      if (call === 'do b') world.things.set('b', 'made although it said no');
    };
    await lab.submit({ id: 'one', input: ['a', 'b'] });
    expect((await lab.ended('one')).state).toBe('succeeded');
    expect(world.calls.filter((call) => call.startsWith('do'))).toEqual(['do a', 'do b']);
  });

  it('fails with operation-verify-failed when the provider says yes and does nothing, again and again', async () => {
    const world = createFaultyWorld();
    order(world, 'do b', ...Array<Fault>(5).fill('does nothing'));
    const lab = labOf(world);
    await lab.submit({ id: 'one', input: names });
    expect(await lab.ended('one')).toMatchObject({
      state: 'failed',
      error: { code: 'operation-verify-failed' },
    });
    expect(world.calls.filter((call) => call === 'do b')).toHaveLength(5);
    expect(world.things.size).toBe(0);
  });

  it('gives a call that hangs up at its deadline, and tries again', async () => {
    const world = createFaultyWorld();
    order(world, 'do b', 'hangs');
    const lab = labOf(world);
    await lab.submit({ id: 'one', input: names });
    expect((await lab.ended('one')).state).toBe('succeeded');
    expect(world.calls.filter((call) => call === 'do b')).toHaveLength(2);
  });

  it('leaves a body alone that hangs and does not listen, and goes on', async () => {
    const world = createFaultyWorld();
    const deaf: Step<unknown> = { name: 'deaf', tries: 2, timeoutMs: 1_000, do: never };
    const lab = labOf(world, () => [kindOf('deaf', [thingStep(world, 'a'), deaf])]);
    await lab.submit({ id: 'one', kind: 'deaf', input: null });
    expect(await lab.ended('one')).toMatchObject({
      state: 'failed',
      error: { code: 'operation-step-timeout' },
    });
    expect(world.things.size).toBe(0);
  });

  it('waits as long as a provider asks for', async () => {
    const world = createFaultyWorld();
    order(world, 'do a', 'is throttled');
    const lab = labOf(world);
    const began = lab.clock.now();
    await lab.submit({ id: 'one', input: ['a'] });
    await lab.ended('one');
    expect(lab.clock.now() - began).toBeGreaterThanOrEqual(5_000);
  });

  it('tells a person what it could not undo, and undoes the rest', async () => {
    const world = createFaultyWorld();
    order(world, 'do d', 'fails for good');
    order(world, 'undo b', ...Array<Fault>(5).fill('fails'));
    order(world, 'undo c', 'does nothing');
    const lab = labOf(world);
    await lab.submit({ id: 'one', input: names });
    const record = await lab.ended('one');
    expect(record.exceptions).toEqual(['Step b could not be undone: The provider failed.']);
    expect(states(lab, 'one')).toEqual({ a: 'undone', b: 'undo-failed', c: 'undone', d: 'undone' });
    expect([...world.things.keys()]).toEqual(['b']);
  });

  it('says who cancelled it, and undoes', async () => {
    const world = createFaultyWorld();
    order(world, 'do c', 'hangs');
    const lab = labOf(world);
    world.onCall = (call) => {
      if (call === 'do c') setImmediate(() => lab.operations().cancel('one', 'eve'));
    };
    await lab.submit({ id: 'one', input: names });
    const record = await lab.ended('one');
    expect(record).toMatchObject({
      state: 'cancelled',
      cancelRequestedBy: 'eve',
      error: { code: 'cancelled', message: 'eve cancelled the operation.' },
    });
    expect(world.things.size).toBe(0);
    expect(world.calls).not.toContain('do d');
    await expect(lab.operations().cancel('one', 'eve')).rejects.toMatchObject({ code: 'operation-ended' });
  });

  it('hears a cancel that came while no process lived', async () => {
    const world = createFaultyWorld();
    order(world, 'do b', 'dies before');
    const lab = labOf(world);
    world.onCall = (call) => {
      const record = lab.record('one');
      if (call === 'do b') lab.journalState.records.set('one', { ...record, cancelRequestedBy: 'eve' });
    };
    await lab.submit({ id: 'one', input: names });
    expect((await lab.ended('one')).state).toBe('cancelled');
    expect(world.things.size).toBe(0);
  });

  it('ends at once when it is cancelled in the queue, and leaves the holder of the key alone', async () => {
    const world = createFaultyWorld();
    const gate = Promise.withResolvers<undefined>();
    const slow: Step<unknown> = { name: 'slow', do: () => gate.promise };
    const lab = labOf(world, () => [kindOf('slow', [slow]), makeThings(world)]);
    await lab.submit({ id: 'one', kind: 'slow', key: 'shared', input: null });
    await lab.submit({ id: 'two', key: 'shared', input: names });
    await lab.operations().cancel('two', 'eve');
    expect((await lab.ended('two')).state).toBe('cancelled');
    expect(world.calls).toEqual([]);
    expect(lab.record('one').endedAt).toBeUndefined();
    gate.resolve(undefined);
    expect((await lab.ended('one')).state).toBe('succeeded');
  });

  it('is taken up again when the process died before it was enqueued', async () => {
    const world = createFaultyWorld();
    const lab = labOf(world);
    await lab.submit({ id: 'zero', input: [] });
    await lab.ended('zero');
    const journaled = { ...lab.record('zero'), id: 'one', state: 'queued', input: ['a'] } as const;
    const { endedAt: _, ...record } = {
      ...journaled,
      steps: [{ name: 'a', state: 'pending', attempts: 0 }],
    } as const;
    lab.journalState.records.set('one', record);
    lab.journalState.live.add('one');
    expect((await lab.ended('one')).state).toBe('succeeded');
    expect([...world.things.keys()]).toEqual(['a']);
  });

  it('retried, is a new run that skips what already holds', async () => {
    const world = createFaultyWorld();
    order(world, 'do c', 'fails for good');
    const lab = labOf(world, () => [makeThings(world, (name) => ({ undo: name !== 'a' }))]);
    await lab.submit({ id: 'one', input: names });
    expect((await lab.ended('one')).state).toBe('failed');
    expect([...world.things.keys()]).toEqual(['a']);
    const again = await lab.operations().retry('one', 'eve');
    expect(again).toMatchObject({ retryOf: 'one', by: 'eve', key: 'world', state: 'queued' });
    expect((await lab.ended(again.id)).state).toBe('succeeded');
    expect(states(lab, again.id)).toEqual({ a: 'skipped', b: 'done', c: 'done', d: 'done' });
    expect(world.calls.filter((call) => call === 'do a')).toHaveLength(1);
  });

  it('retried twice under one name, is one new run, also when the first has ended by then', async () => {
    const world = createFaultyWorld();
    order(world, 'do c', 'fails for good');
    const lab = labOf(world);
    await lab.submit({ id: 'one', input: names });
    await lab.ended('one');
    const { retry } = lab.operations();
    expect(await retry('one', 'eve', 'two')).toMatchObject({ id: 'two', retryOf: 'one' });
    expect(await retry('one', 'eve', 'two')).toMatchObject({ id: 'two', by: 'eve' });
    expect((await lab.ended('two')).state).toBe('succeeded');
    expect(await retry('one', 'eve', 'two')).toMatchObject({ id: 'two', state: 'succeeded' });
    expect([...lab.journalState.records.keys()]).toEqual(['one', 'two']);
    expect(world.calls.filter((call) => call === 'do d')).toHaveLength(1);
  });

  it('fails once when an answer or an error cannot be recorded, instead of asking for ever', async () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    for (const answer of [
      async () => circle as never,
      () => Promise.reject(new ImagoError('provider-quota', 'full', { details: circle })),
    ]) {
      const world = createFaultyWorld();
      let calls = 0;
      const odd: Step<unknown> = {
        name: 'odd',
        do() {
          calls += 1;
          return answer();
        },
      };
      const lab = labOf(world, () => [kindOf('odd', [thingStep(world, 'a'), odd])]);
      await lab.submit({ id: 'one', kind: 'odd', input: null });
      expect((await lab.ended('one')).state).toBe('failed');
      expect(calls).toBe(1);
      expect(world.things.size).toBe(0);
    }
  });

  it('fails and undoes when its result cannot be made or recorded', async () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    for (const result of [() => circle as never, () => expect.fail('no result')]) {
      const world = createFaultyWorld();
      const lab = labOf(world, () => [kindOf('odd', [thingStep(world, 'a')], { result })]);
      await lab.submit({ id: 'one', kind: 'odd', input: null });
      expect((await lab.ended('one')).state).toBe('failed');
      expect(world.things.size).toBe(0);
    }
  });

  it('refuses wrong input and unknown kinds before anything is recorded', async () => {
    const world = createFaultyWorld();
    const refusing = kindOf('strict', [], {
      parse: () => {
        throw new TypeError('wrong');
      },
    });
    const lab = labOf(world, () => [refusing]);
    await expect(lab.submit({ id: 'one', kind: 'strict', input: 1 })).rejects.toThrow('wrong');
    await expect(lab.submit({ id: 'two', kind: 'nope' })).rejects.toMatchObject({
      code: 'operation-unknown-kind',
    });
    expect(lab.journalState.records.size).toBe(0);
  });

  it('is refused when the key is held and the caller does not want to wait', async () => {
    const world = createFaultyWorld();
    order(world, 'do a', 'hangs');
    const lab = labOf(world);
    await lab.submit({ id: 'one', input: names });
    await expect(lab.submit({ id: 'two', whenBusy: 'refuse', input: names })).rejects.toMatchObject({
      code: 'operation-busy',
    });
    const plan = lab
      .operations()
      .plan({ kind: 'make-things', subject: 'world', by: 'x', input: ['z'], whenBusy: 'refuse' });
    await expect(plan).rejects.toMatchObject({ code: 'operation-busy' });
    await lab.ended('one');
  });
});

describe('a step that waits', () => {
  let approvedBy: string | undefined;
  const wait: Step<unknown> = {
    name: 'approve',
    patience: () => ({ timeoutMs: 3_600_000 }),
    look: async () =>
      approvedBy === undefined
        ? { againMs: 3_600_000, sentence: 'Waiting for an approval.' }
        : { done: { by: approvedBy } },
  };

  function approvalLab(world: FaultyWorld): Lab {
    return labOf(world, () => [kindOf('approved', [thingStep(world, 'a'), wait, thingStep(world, 'b')])]);
  }

  beforeEach(() => {
    approvedBy = undefined;
  });

  async function untilWaiting(lab: Lab): Promise<void> {
    while (lab.record('one').state !== 'waiting') await lab.clock.sleep(1);
  }

  it('goes on when it is woken, also when that came early and the process died meanwhile', async () => {
    const world = createFaultyWorld();
    order(world, 'do a', 'fails', 'dies before');
    const lab = approvalLab(world);
    await lab.submit({ id: 'one', kind: 'approved', input: null });
    await lab.operations().wake('one');
    approvedBy = 'ann';
    await lab.operations().wake('one');
    const record = await lab.ended('one');
    expect(record.state).toBe('succeeded');
    expect(record.steps[1]).toMatchObject({ name: 'approve', state: 'done', result: { by: 'ann' } });
  });

  it('shows that it waits, and what for', async () => {
    const world = createFaultyWorld();
    const lab = approvalLab(world);
    await lab.submit({ id: 'one', kind: 'approved', input: null });
    await untilWaiting(lab);
    expect(lab.record('one')).toMatchObject({
      state: 'waiting',
      currentStep: 'approve',
      progress: { sentence: 'Waiting for an approval.' },
    });
    const waitedFrom = lab.clock.now();
    approvedBy = 'ann';
    await lab.operations().wake('one');
    expect((await lab.ended('one')).state).toBe('succeeded');
    expect(lab.clock.now() - waitedFrom).toBeLessThan(600_000);
    await expect(lab.operations().wake('one')).rejects.toMatchObject({ code: 'operation-ended' });
  });

  it('fails and undoes when what it waits for does not come in time', async () => {
    const world = createFaultyWorld();
    const lab = approvalLab(world);
    await lab.submit({ id: 'one', kind: 'approved', input: null });
    expect(await lab.ended('one')).toMatchObject({
      state: 'failed',
      error: { code: 'operation-wait-timeout' },
    });
    expect(world.things.size).toBe(0);
  });

  it('fails when it cannot look', async () => {
    const world = createFaultyWorld();
    const unsure: Step<unknown> = {
      name: 'unsure',
      patience: () => ({ timeoutMs: 3_600_000 }),
      look: async () => {
        throw new Error('for what?');
      },
    };
    const lab = labOf(world, () => [kindOf('unsure', [thingStep(world, 'a'), unsure])]);
    await lab.submit({ id: 'one', kind: 'unsure', input: null });
    expect(await lab.ended('one')).toMatchObject({ state: 'failed', error: { message: 'for what?' } });
    expect(world.things.size).toBe(0);
  });

  it('is cancelled while it waits', async () => {
    const world = createFaultyWorld();
    const lab = approvalLab(world);
    await lab.submit({ id: 'one', kind: 'approved', input: null });
    await untilWaiting(lab);
    await lab.operations().cancel('one', 'eve');
    expect((await lab.ended('one')).state).toBe('cancelled');
    expect(world.things.size).toBe(0);
  });
});

describe('a step that runs another operation', () => {
  const child: Step<unknown> = {
    name: 'inner',
    child: () => ({ kind: 'make-things', subject: 'world', input: ['x', 'y'] }),
  };

  function familyLab(world: FaultyWorld): Lab {
    return labOf(world, () => [
      makeThings(world),
      kindOf('outer', [thingStep(world, 'a'), child, thingStep(world, 'b')]),
    ]);
  }

  it('ends with the child’s result, though the child wants the key that its parent holds', async () => {
    const world = createFaultyWorld();
    order(world, 'do y', 'dies after');
    const lab = familyLab(world);
    await lab.submit({ id: 'one', kind: 'outer', input: null });
    const record = await lab.ended('one');
    expect(record.state).toBe('succeeded');
    expect(record.steps[1]).toMatchObject({ state: 'done', result: { made: 'y' } });
    expect(lab.record('one.inner')).toMatchObject({ parent: 'one', state: 'succeeded', by: 'test' });
  });

  it('fails with the child’s error, and undoes what the parent did', async () => {
    const world = createFaultyWorld();
    order(world, 'do y', 'fails for good');
    const lab = familyLab(world);
    await lab.submit({ id: 'one', kind: 'outer', input: null });
    expect(await lab.ended('one')).toMatchObject({ state: 'failed', error: { code: 'provider-quota' } });
    expect(world.things.size).toBe(0);
  });

  it('hands a cancel on to the child', async () => {
    const world = createFaultyWorld();
    order(world, 'do y', 'hangs');
    const lab = familyLab(world);
    world.onCall = (call) => {
      if (call === 'do y') setImmediate(() => lab.operations().cancel('one', 'eve'));
    };
    await lab.submit({ id: 'one', kind: 'outer', input: null });
    expect((await lab.ended('one')).state).toBe('cancelled');
    expect(lab.record('one.inner')).toMatchObject({ state: 'cancelled', cancelRequestedBy: 'eve' });
    expect(world.things.size).toBe(0);
  });

  it('refuses a child that would wait for its own parent', async () => {
    const world = createFaultyWorld();
    const gate = Promise.withResolvers<undefined>();
    const crossing = (own: string, other: string) =>
      kindOf(own, [
        { name: 'hold', do: () => (own === 'left' ? gate.promise : Promise.resolve(undefined)) },
        { name: 'cross', child: () => ({ kind: 'make-things', subject: other, input: ['x'] }) },
      ]);
    const lab = labOf(world, () => [makeThings(world), crossing('left', 'right'), crossing('right', 'left')]);
    await lab.submit({ id: 'l', kind: 'left', subject: 'left', input: null });
    await lab.submit({ id: 'r', kind: 'right', subject: 'right', input: null });
    while (lab.engineState.runs.get('r.cross') === undefined) await lab.clock.sleep(1);
    gate.resolve(undefined);
    expect(await lab.ended('l')).toMatchObject({ state: 'failed', error: { code: 'operation-busy' } });
    expect((await lab.ended('r')).state).toBe('succeeded');
  });
});

describe('the calls that an operation records', () => {
  const approve: Step<unknown> = {
    name: 'approve',
    patience: () => ({ timeoutMs: 1_000 }),
    look: async () => ({ againMs: 60_000, sentence: 'Waiting.' }),
  };
  const inner: Step<unknown> = {
    name: 'inner',
    child: () => ({ kind: 'make-things', subject: 'inner', input: [] }),
  };

  async function calls(world: FaultyWorld, steps: readonly Step<unknown>[]): Promise<string[]> {
    const lab = labOf(world, () => [makeThings(world), kindOf('any', steps)]);
    await lab.submit({ id: 'one', kind: 'any', input: null });
    await lab.ended('one');
    return lab.engineState.runs.get('one')?.calls.map((call) => call.name) ?? [];
  }

  it('are a format that later versions keep to', async () => {
    const world = createFaultyWorld();
    expect(await calls(world, [thingStep(world, 'a'), inner])).toEqual([
      ...['step do:a', 'step do:inner', 'until wake', 'wait wake', 'step look:inner', 'step finish'],
    ]);
    expect(await calls(world, [thingStep(world, 'b'), thingStep(world, 'c'), approve])).toEqual([
      ...['step do:b', 'step do:c', 'step do:approve', 'step look:approve', 'until wake', 'wait wake'],
      ...['step look:approve', 'step undo:c', 'step undo:b', 'step close'],
    ]);
  });
});

describe('code that changed while an operation ran', () => {
  function older(world: FaultyWorld): OperationKind<unknown> {
    return kindOf(
      'evolving',
      ['a', 'b', 'c', 'd'].map((name) => thingStep(world, name)),
    );
  }

  function newer(world: FaultyWorld): OperationKind<unknown> {
    const renamed = { ...thingStep(world, 'b'), name: 'better-b' };
    const steps = [thingStep(world, 'a'), thingStep(world, 'inserted'), renamed, thingStep(world, 'd')];
    return kindOf('evolving', steps, { renamed: { b: 'better-b' }, removed: ['c'] });
  }

  for (const [last, expected] of [
    ['a', ['a', 'b', 'd']],
    ['b', ['a', 'b', 'd']],
    ['c', ['a', 'b', 'c', 'd']],
    ['d', ['a', 'b', 'c', 'd']],
  ] as const) {
    it(`finishes what older code began, which died after ${last}`, async () => {
      const world = createFaultyWorld();
      order(world, `do ${last}`, 'dies after');
      const lab = openLab({
        world,
        kinds: () => (world.calls.length === 0 ? [older(world)] : [newer(world)]),
      });
      await lab.submit({ id: 'one', kind: 'evolving', input: null });
      const record = await lab.ended('one');
      expect(record).toMatchObject({ state: 'succeeded', result: { made: 'd' } });
      expect([...world.things.keys()].toSorted()).toEqual(expected);
      const dos = world.calls.filter((call) => call.startsWith('do'));
      expect(new Set(dos).size).toBe(dos.length);
    });
  }

  it('does not seem to run for ever when the engine’s record fits no code: a person is told', async () => {
    const world = createFaultyWorld();
    order(world, 'do b', 'dies after');
    const lab = labOf(world);
    world.onCall = (call) => {
      const calls = lab.engineState.runs.get('one')?.calls;
      if (call === 'do b') calls?.splice(0, 1, { name: 'step of another world', value: null });
    };
    await lab.submit({ id: 'one', input: names });
    const record = await lab.ended('one');
    expect(record).toMatchObject({ state: 'failed', error: { code: 'internal' } });
    expect(record.exceptions.map((exception) => exception.slice(0, 16))).toEqual([
      ...['Step a (done) wa', 'Step b (running)'],
    ]);
  });

  it('fails and undoes when a step is gone without a word', async () => {
    const world = createFaultyWorld();
    order(world, 'do b', 'dies before');
    const gone = () =>
      kindOf(
        'evolving',
        ['a', 'd'].map((name) => thingStep(world, name)),
      );
    const lab = openLab({ world, kinds: () => (world.calls.length === 0 ? [older(world)] : [gone()]) });
    await lab.submit({ id: 'one', kind: 'evolving', input: null });
    const record = await lab.ended('one');
    expect(record).toMatchObject({ state: 'failed', error: { code: 'operation-unknown-step' } });
    expect(record.exceptions).toHaveLength(1);
    expect(world.things.size).toBe(0);
  });

  it('tells a person when a removed step cannot be undone any more', async () => {
    const world = createFaultyWorld();
    order(world, 'do d', 'dies before', 'fails for good');
    const lab = openLab({
      world,
      kinds: () => (world.calls.length === 0 ? [older(world)] : [newer(world)]),
    });
    await lab.submit({ id: 'one', kind: 'evolving', input: null });
    const record = await lab.ended('one');
    expect(record.exceptions).toHaveLength(1);
    expect([...world.things.keys()]).toEqual(['c']);
  });
});
