// Operations that were in progress when the daemon was upgraded. The rows are those of a daemon that still recorded its
// steps in DBOS's tables and was stopped in the middle: an operation in a child's fourth step, one that waits for an
// approval, and one in the queue behind it.
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../src/host/system-clock.ts';
import type { OperationKind, Step, WorkStep } from '../../src/ports/workflow/operation.ts';
import { createDbosEngine } from '../../src/workflow/engine/dbos/engine.ts';
import { createOperations, type Operations } from '../../src/workflow/operations.ts';
import { patience } from '../support/speed.ts';
import { administer, type StoreBench, startStoreBench } from '../support/store.ts';

let bench: StoreBench;

beforeAll(async () => {
  bench = await startStoreBench();
});

afterAll(() => bench?.stop());

/** The operations of the rows, and every `do` and `undo` that they call from now on. */
async function takeOver(): Promise<{ operations: Operations; url: string; acts: string[]; approve(): void }> {
  const { database, journal, calls } = await bench.freshStore();
  const { url } = database;
  const { signal } = new AbortController();
  const empty = createDbosEngine({ databaseUrl: url, calls, signal });
  await empty.start(async () => undefined);
  await empty.stop();
  const file = join(import.meta.dirname, '../support/engine/recorded-by-dbos.json');
  const rows = JSON.parse(readFileSync(file, 'utf8')) as Record<string, readonly Record<string, unknown>[]>;
  for (const [table, values] of Object.entries(rows)) {
    for (const row of values) await insert(url, table, row);
  }
  const acts: string[] = [];
  let approved = false;
  const operations = createOperations({
    engine: createDbosEngine({ databaseUrl: url, calls, signal, patienceMs: 100 }),
    ...{ journal, clock: systemClock, newId: randomUUID, kinds: kindsOf(acts, () => approved) },
  });
  const approve = () => {
    approved = true;
  };
  return { operations, url, acts, approve };
}

async function insert(url: string, table: string, row: Record<string, unknown>): Promise<void> {
  const columns = Object.keys(row).map((column) => `"${column}"`);
  await administer(
    url,
    `set imago.epoch = 0; insert into ${table} (${columns})
     select ${columns} from json_populate_record(null::${table}, '${JSON.stringify(row).replaceAll("'", "''")}')`,
  );
}

function kindsOf(acts: string[], approved: () => boolean): ReadonlyMap<string, OperationKind<unknown>> {
  function thing(name: string): WorkStep<unknown> {
    return {
      name,
      async do({ operation }) {
        acts.push(`do ${operation.id}/${name}`);
        return { made: name };
      },
      async undo({ operation }) {
        acts.push(`undo ${operation.id}/${name}`);
        return undefined;
      },
    };
  }
  const inner: Step<unknown> = {
    name: 'inner',
    child: () => ({ kind: 'things', subject: 'world', input: {} }),
  };
  const approval: Step<unknown> = {
    name: 'approved',
    patience: () => ({ timeoutMs: 3_600_000 }),
    look: async () => (approved() ? { done: 'yes' } : { againMs: 60_000, sentence: 'waiting' }),
  };
  const kinds = {
    things: ['step-1', 'step-2', 'step-3', 'step-4', 'step-5', 'step-6'].map(thing),
    outer: [thing('outer'), inner, thing('last')],
    approval: [thing('before'), approval, thing('after')],
  };
  return new Map(
    Object.entries(kinds).map(([kind, steps]) => [
      kind,
      { kind, parse: (input) => input, plan: async () => [], steps: () => steps },
    ]),
  );
}

it('finishes operations whose steps DBOS recorded, and does no step again that was done', async () => {
  const { operations, url, acts, approve } = await takeOver();
  const ended = (id: string) => operations.ended(id, AbortSignal.timeout(patience(60_000)));
  await operations.start();
  expect(await ended('family')).toMatchObject({ state: 'succeeded', result: { made: 'last' } });
  approve();
  await operations.wake('waits');
  expect(await ended('waits')).toMatchObject({ state: 'succeeded', steps: [{ attempts: 1 }, {}, {}] });
  expect(await ended('queued')).toMatchObject({ state: 'succeeded' });
  expect(acts).toEqual([
    ...['do family.inner/step-4', 'do family.inner/step-5', 'do family.inner/step-6', 'do family/last'],
    ...['do waits/after', 'do queued/before', 'do queued/after'],
  ]);
  expect(await administer(url, 'select from imago.calls')).toEqual([]);

  const fresh = await operations.submit({ kind: 'things', subject: 'world', by: 'ann', input: {} });
  expect(await ended(fresh.id)).toMatchObject({ state: 'succeeded' });
  expect(await administer(url, `select from imago.calls where run = '${fresh.id}'`)).toHaveLength(7);
  await operations.stop();
});

it('undoes what an operation of DBOS’s record had done, when it is cancelled', async () => {
  const { operations, acts } = await takeOver();
  await operations.start();
  await operations.cancel('waits', 'eve');
  const ended = (id: string) => operations.ended(id, AbortSignal.timeout(patience(60_000)));
  expect(await ended('waits')).toMatchObject({ state: 'cancelled', exceptions: [] });
  expect(acts).toContain('undo waits/before');
  expect(acts).not.toContain('do waits/after');
  expect(await ended('family')).toMatchObject({ state: 'succeeded' });
  await operations.cancel('queued', 'eve');
  await ended('queued');
  await operations.stop();
});
