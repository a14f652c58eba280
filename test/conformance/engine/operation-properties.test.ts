// Whatever fails, in whatever order: operations end, do nothing twice, and leave the world as it was or say
// what they could not put back. Thousands of random stories, each replayable by its seed.
import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import type { OperationRecord } from '../../../src/ports/workflow/operation.ts';
import { patience } from '../../support/speed.ts';
import { createFaultyWorld, type Fault, type FaultyWorld, faults, makeThings } from './faulty-world.ts';
import { createLab, type Lab } from './memory-lab.ts';

const soak = process.env.IMAGO_SOAK === '1';
const numRuns = soak ? 5_000 : 300;
if (soak) vi.setConfig({ testTimeout: patience(600_000) });
const names = ['a', 'b', 'c', 'd', 'e'] as const;
type Name = (typeof names)[number];
type Phase = 'do' | 'undo' | 'verify';

interface Story {
  readonly steps: number;
  readonly before: readonly Name[];
  readonly kept: readonly Name[];
  readonly faults: readonly (readonly [Phase, Name, readonly Fault[]])[];
  readonly crashes: readonly number[];
  readonly databaseDies: readonly boolean[];
  readonly cancelAt: number | undefined;
}

const fault = fc.oneof({ weight: 2, arbitrary: fc.constant<Fault>('none') }, fc.constantFrom(...faults));
const story: fc.Arbitrary<Story> = fc.record({
  steps: fc.integer({ min: 1, max: names.length }),
  before: fc.subarray([...names], { maxLength: 2 }),
  kept: fc.subarray([...names], { maxLength: 2 }),
  faults: fc.array(
    fc.tuple(
      fc.constantFrom<Phase>('do', 'do', 'undo', 'verify'),
      fc.constantFrom(...names),
      fc.array(fault, { minLength: 1, maxLength: 6 }),
    ),
    { maxLength: 6 },
  ),
  crashes: fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 4 }),
  databaseDies: fc.array(fc.boolean(), { maxLength: 4 }),
  cancelAt: fc.option(fc.integer({ min: 0, max: 25 }), { nil: undefined }),
});

interface Told {
  readonly world: FaultyWorld;
  readonly lab: Lab;
  readonly record: OperationRecord;
  /** Calls of steps that the engine had recorded as completed. */
  readonly repeated: readonly string[];
}

async function tell({ steps, before, kept, ...rest }: Story): Promise<Told> {
  const world = createFaultyWorld(before.map((name) => [name, 'before']));
  for (const [phase, name, list] of rest.faults) world.ordered.set(`${phase} ${name}`, [...list]);
  const databaseDies = [...rest.databaseDies];
  let points = 0;
  const lab = createLab({
    world,
    kinds: () => [makeThings(world, (name) => ({ undo: !kept.includes(name as Name) }))],
    crash: () => rest.crashes.includes(points++),
    losesWrites: () => databaseDies.shift() ?? false,
  });
  const repeated: string[] = [];
  let calls = 0;
  world.onCall = (call) => {
    const recorded = lab.engineState.runs.get('one')?.calls ?? [];
    if (recorded.some((done) => done.name === `step ${call.replace(' ', ':')}`)) repeated.push(call);
    if (calls++ === rest.cancelAt)
      setImmediate(() =>
        lab
          .operations()
          .cancel('one', 'eve')
          .catch(() => undefined),
      );
  };
  await lab.submit({ id: 'one', input: names.slice(0, steps) });
  const record = await lab.ended('one');
  return { world, lab, record, repeated };
}

function check(property: (told: Told, given: Story) => Promise<void> | void): Promise<void> {
  return fc.assert(
    fc.asyncProperty(story, async (given) => {
      const told = await tell(given);
      await property(told, given);
      await told.lab.close();
    }),
    { numRuns },
  );
}

describe('in every story', () => {
  it('what is recorded is true: success means that everything is so (rule 8)', () =>
    check(({ world, record }, { steps }) => {
      if (record.state !== 'succeeded') return;
      for (const name of names.slice(0, steps)) expect(world.things.has(name)).toBe(true);
      expect(record.exceptions).toEqual([]);
    }));

  it('after a failure or a cancel the world is as it was before, or a person is told (rule 1)', () =>
    check(({ world, record }, { before, kept }) => {
      if (record.state === 'succeeded') return;
      for (const name of names) {
        const told = record.exceptions.some((exception) => exception.startsWith(`Step ${name} `));
        const had = before.includes(name);
        if (had) expect(world.things.get(name)).toBe('before');
        else if (!kept.includes(name) && !told) expect(world.things.has(name)).toBe(false);
      }
    }));

  it('no completed step runs again, and the one under way at most once for each death', () =>
    check(({ world, lab, repeated }) => {
      expect(repeated.filter((call) => !call.startsWith('verify'))).toEqual([]);
      const tries = 5;
      for (const name of names) {
        const done = world.calls.filter((call) => call === `do ${name}`).length;
        expect(done).toBeLessThanOrEqual(tries * (lab.deaths() + 1));
      }
    }));

  it('the journal tells the same as the engine, step by step', () =>
    check(({ record }) => {
      const open = record.steps.filter((step) => step.state === 'running');
      expect(open).toEqual([]);
      if (record.state === 'succeeded') {
        expect(record.steps.every((step) => ['done', 'skipped'].includes(step.state))).toBe(true);
      } else {
        expect(record.error).toBeDefined();
        const undone = record.steps.filter((step) => step.state === 'undo-failed').map((step) => step.name);
        expect(record.exceptions).toHaveLength(undone.length);
      }
      expect(record.endedAt).toBeDefined();
      expect(record.currentStep).toBeUndefined();
    }));

  it('a retry converges, and does nothing that is already so (rule 11)', () =>
    check(async ({ world, lab, record }, { steps }) => {
      if (record.state === 'succeeded') return;
      world.ordered.clear();
      world.onCall = () => undefined;
      const there = new Set(world.things.keys());
      world.calls.length = 0;
      await lab.submit({ id: 'again', input: record.input, retryOf: 'one' });
      expect((await lab.ended('again')).state).toBe('succeeded');
      for (const name of names.slice(0, steps)) {
        expect(world.things.has(name)).toBe(true);
        if (there.has(name)) expect(world.calls).not.toContain(`do ${name}`);
      }
    }));
});

describe('operations on one key', () => {
  it('never overlap, whatever dies (rule 12)', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 0, max: 40 }), { maxLength: 4 }),
        fc.array(fault, { maxLength: 4 }),
        async (crashes, list) => {
          const world = createFaultyWorld();
          world.ordered.set('do b', list);
          let points = 0;
          const kinds = () => [makeThings(world)];
          const lab = createLab({ world, kinds, crash: () => crashes.includes(points++) });
          const order: string[] = [];
          world.onCall = (_, operation) => {
            if (order.at(-1) !== operation) order.push(operation);
          };
          await lab.submit({ id: 'one', key: 'shared', input: ['a', 'b'] });
          await lab.submit({ id: 'two', key: 'shared', input: ['c', 'd'] });
          await lab.submit({ id: 'three', key: 'shared', input: ['e'] });
          await lab.ended('three');
          expect(order).toEqual(['one', 'two', 'three']);
          await lab.close();
        },
      ),
      { numRuns },
    ));
});
