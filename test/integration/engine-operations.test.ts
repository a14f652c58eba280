// Operations on the real engine and the real journal: cancelled at every step, waiting through a restart, and
// with a database that restarts or is full in the middle. What is compared is the world, not a log.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { openStore, type Store } from '../../src/database/open-database.ts';
import { systemClock } from '../../src/host/system-clock.ts';
import type { OperationKind, OperationRecord, Step, WorkStep } from '../../src/ports/workflow/operation.ts';
import { createDbosEngine } from '../../src/workflow/engine/dbos/engine.ts';
import { forgetRunsBefore } from '../../src/workflow/engine/dbos/stored-runs.ts';
import { loadWorkflows } from '../../src/workflow/engine/dbos/workflows.ts';
import { createOperations, type Operations } from '../../src/workflow/operations.ts';
import { patience } from '../support/speed.ts';
import { administer, type StoreBench, startStoreBench } from '../support/store.ts';
import { until } from '../support/until.ts';

const names = Array.from({ length: 12 }, (_, place) => `step-${place + 1}`);

let bench: StoreBench;
let template: string;
let url: string;
let store: Store;
let operations: Operations;
let world: Map<string, string>;
let onStep: (act: string, name: string, operation: string) => Promise<void> | void;

beforeAll(async () => {
  bench = await startStoreBench();
  template = await bench.freshDatabase();
  const { calls, close } = openStore({ url: template, epoch: 0 });
  const engine = createDbosEngine({ databaseUrl: template, calls, signal: new AbortController().signal });
  await engine.start(async () => undefined);
  await engine.stop();
  await close();
});

afterAll(() => bench?.stop());

beforeEach(async () => {
  url = await bench.postgres.freshDatabase(template);
  store = await bench.freshStore({ url });
  world = new Map();
  onStep = () => undefined;
  await open();
});

afterEach(() => operations.stop());

async function open(): Promise<void> {
  operations = createOperations({
    engine: createDbosEngine({
      ...{ databaseUrl: url, calls: store.calls, signal: new AbortController().signal, patienceMs: 100 },
    }),
    journal: store.journal,
    kinds: new Map(kinds().map((kind) => [kind.kind, kind])),
    clock: systemClock,
    newId: randomUUID,
  });
  await operations.start();
}

function thing(name: string): WorkStep<unknown> {
  return {
    name,
    async do({ operation }) {
      await onStep('do', name, operation.id);
      world.set(name, operation.id);
      return name;
    },
    verify: async () => (world.has(name) ? name : undefined),
    async undo({ operation }) {
      await onStep('undo', name, operation.id);
      world.delete(name);
      return undefined;
    },
  };
}

function kinds(): readonly OperationKind<unknown>[] {
  const kindOf = (kind: string, steps: readonly Step<unknown>[]): OperationKind<unknown> => {
    return { kind, parse: (input) => input, plan: async () => [], steps: () => steps };
  };
  const approve: Step<unknown> = {
    name: 'approve',
    patience: () => ({ timeoutMs: 600_000 }),
    look: async () =>
      world.has('approval')
        ? { done: world.get('approval') ?? null }
        : { againMs: 600_000, sentence: 'Waiting for an approval.' },
  };
  const inner: Step<unknown> = {
    name: 'inner',
    child: () => ({ kind: 'things', subject: 'world', input: null }),
  };
  return [
    kindOf('things', names.map(thing)),
    kindOf('approved', [thing('before'), approve, thing('after')]),
    kindOf('outer', [thing('outer'), inner]),
  ];
}

async function submit(kind: string, id: string): Promise<void> {
  await operations.submit({ id, kind, subject: 'world', by: 'ann', input: null });
}

function ended(id: string): Promise<OperationRecord> {
  return operations.ended(id, AbortSignal.timeout(patience(60_000)));
}

function untilState(id: string, state: OperationRecord['state']): Promise<boolean> {
  return until(`${id} is ${state}`, async () => (await store.journal.get(id))?.state === state);
}

describe('cancel', () => {
  it('at every step boundary leaves the world as it was', async () => {
    world.set('step-3', 'someone else');
    const before = new Map(world);
    for (const boundary of names.filter((name) => name !== 'step-3')) {
      onStep = async (act, name, operation) => {
        if (act === 'do' && name === boundary) await operations.cancel(operation, 'eve');
      };
      await submit('things', `cancelled-at-${boundary}`);
      const record = await ended(`cancelled-at-${boundary}`);
      expect(record).toMatchObject({ state: 'cancelled', exceptions: [], error: { code: 'cancelled' } });
      expect(world).toEqual(before);
    }
  });

  it('reaches a child, an operation that waits, and one in the queue', async () => {
    onStep = async (act, name, operation) => {
      if (act !== 'do' || name !== 'step-4') return;
      await operations.cancel(operation.split('.')[0] ?? '', 'eve');
      await until('the cancel arrives', async () => (await store.journal.get(operation))?.cancelRequestedBy);
    };
    await submit('outer', 'family');
    expect((await ended('family')).state).toBe('cancelled');
    expect((await store.journal.get('family.inner'))?.state).toBe('cancelled');

    await submit('approved', 'waits');
    await submit('approved', 'queued');
    await untilState('waits', 'waiting');
    await operations.cancel('queued', 'eve');
    expect((await ended('queued')).state).toBe('cancelled');
    await operations.cancel('waits', 'eve');
    expect((await ended('waits')).state).toBe('cancelled');
    expect(world.size).toBe(0);
  });
});

describe('a stop of the daemon', () => {
  it('lets an operation wait on, and go on with the answer under the next one', async () => {
    await submit('approved', 'waits');
    await untilState('waits', 'waiting');
    await operations.stop();
    await open();
    world.set('approval', 'bob');
    await operations.wake('waits');
    const record = await ended('waits');
    expect(record).toMatchObject({ state: 'succeeded', result: 'after' });
    expect(record.steps.map((step) => step.attempts)).toEqual([1, 1, 1]);
  });

  it('in the middle of an operation and its child loses neither', async () => {
    const reached = Promise.withResolvers<void>();
    onStep = async (act, name) => {
      if (act !== 'do' || name !== 'step-5') return;
      onStep = () => undefined;
      reached.resolve();
      await new Promise(() => undefined);
    };
    await submit('outer', 'family');
    await reached.promise;
    await operations.stop();
    await open();
    expect(await ended('family')).toMatchObject({ state: 'succeeded', result: 'step-12' });
    expect(world.size).toBe(13);
  });
});

describe('a database', () => {
  it('that restarts again and again in the middle only makes an operation take longer', async () => {
    const restarts: Promise<void>[] = [];
    onStep = async (act, name) => {
      if (act === 'do' && ['step-3', 'step-8'].includes(name)) restarts.push(bench.postgres.restart());
    };
    await submit('things', 'rides-it-out');
    expect(await ended('rides-it-out')).toMatchObject({ state: 'succeeded', exceptions: [] });
    await Promise.all(restarts);
    expect(restarts).toHaveLength(2);
    expect([...world.keys()]).toEqual(names);
  });

  it('that takes no writes for a while holds an operation up, and fails nothing', async () => {
    const tables = ['imago.operations', 'imago.steps', 'imago.calls'];
    const refuse = `
      create function public.full() returns trigger language plpgsql as
      $$ begin raise exception using errcode = '53100', message = 'No space left on device'; end $$;
      ${tables.map((table) => `create trigger full_disk before insert or update on ${table} for each row execute function public.full();`).join('\n')}`;
    const allow = tables.map((table) => `drop trigger full_disk on ${table};`).join('\n');
    let acts = 0;
    onStep = async (act, name) => {
      if (act === 'do') acts += 1;
      if (act === 'do' && name === 'step-6') await administer(url, refuse);
    };
    await submit('things', 'patient');
    await until('step 6 is done', () => world.has('step-6'));
    await sleep(1_500);
    expect(world.has('step-7')).toBe(false);
    await administer(url, allow);
    expect(await ended('patient')).toMatchObject({ state: 'succeeded', exceptions: [] });
    expect(acts).toBe(names.length);
  });
});

describe('the engine’s own records', () => {
  it('are forgotten some time after the end, and operations stay ended', async () => {
    await submit('things', 'old');
    await ended('old');
    await untilCount(1);
    const { dbos } = await loadWorkflows();
    expect(await forgetRunsBefore(dbos, store.calls, Date.now() - 3_600_000)).toBe(0);
    expect(await forgetRunsBefore(dbos, store.calls, Date.now() + 3_600_000)).toBe(1);
    await untilCount(0);
    expect(await administer(url, 'select from imago.calls')).toEqual([]);
    await submit('things', 'old');
    expect((await ended('old')).state).toBe('succeeded');
    await untilCount(0);
  });

  function untilCount(expected: number): Promise<boolean> {
    return until(`the engine has ${expected} records`, async () => {
      const [row] = await administer<{ count: number }>(
        url,
        `select count(*) as count from dbos.workflow_status where status = 'SUCCESS'`,
      );
      return Number(row?.count) === expected;
    });
  }
});
