// What durable operations cost: steps a second against single fsynced commits of the same cluster, the work of
// PostgreSQL and Node for each step, journal writes from many connections, and questions while 10,000 operations live.
// The best of some rounds, where time is measured: what else runs only makes them slower.
import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import type { Store } from '../../src/database/open-database.ts';
import { systemClock } from '../../src/host/system-clock.ts';
import type { OperationKind } from '../../src/ports/workflow/operation.ts';
import { createDbosEngine } from '../../src/workflow/engine/dbos/engine.ts';
import { createOperations } from '../../src/workflow/operations.ts';
import { administer, startStoreBench } from '../support/store.ts';
import { bestOf } from './best-of.ts';
import { printRow } from './row.ts';

const count = 300;
const rounds = 4;
const live = 10_000;
/** An idle backend of PostgreSQL reports what it counted after ten seconds. */
const reportMs = 11_000;
const ticksMs = 10;
const never = new AbortController().signal;

type Kind = 'plain' | 'undoable';

function chain(kind: Kind): OperationKind<unknown> {
  const undo = kind === 'plain' ? {} : { undo: async () => undefined };
  const steps = Array.from({ length: count }, (_, place) => {
    return { name: `s${place}`, do: async () => ({ place }), ...undo };
  });
  return { kind, parse: (input) => input, plan: async () => [], steps: () => steps };
}

const kinds = new Map([chain('plain'), chain('undoable')].map((kind) => [kind.kind, kind]));
const bench = await startStoreBench({ fsync: true });
const url = await bench.freshDatabase();
const store = await bench.freshStore({ url });
const operations = createOperations({
  engine: createDbosEngine({ databaseUrl: url, calls: store.calls, signal: never }),
  ...{ kinds, journal: store.journal, clock: systemClock, newId: randomUUID },
});
const client = new Client({ connectionString: url });
await client.connect();
await client.query('create table commits (row int)');
await operations.start();

async function runSteps(kind: Kind): Promise<void> {
  const { id } = await operations.submit({ kind, subject: 'bench', by: 'bench', input: null });
  await operations.ended(id, never);
}

async function runCommits(): Promise<void> {
  for (let row = 0; row < count; row += 1) await client.query('insert into commits values ($1)', [row]);
}

async function perSecond(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return count / ((performance.now() - began) / 1000);
}

/** Processor time of this process and of all of PostgreSQL's. */
function processorMs(): number {
  const { user, system } = process.cpuUsage();
  const server = bench.postgres.pid();
  const ticks = readdirSync('/proc').map((entry) => {
    const text = /^\d+$/.test(entry) ? readStat(entry) : '';
    const [, parent, ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const isServer = Number(entry) === server || Number(parent) === server;
    return isServer ? Number(rest[9]) + Number(rest[10]) : 0;
  });
  return (user + system) / 1000 + ticks.reduce((sum, one) => sum + one, 0) * ticksMs;
}

function readStat(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8');
  } catch {
    return '';
  }
}

interface Counted {
  readonly transactions: number;
  readonly flushes: number;
}

async function counters(): Promise<Counted> {
  await sleep(reportMs);
  const [row] = await administer<Counted>(
    url,
    `select (select xact_commit::float8 from pg_stat_database where datname = current_database()) as transactions,
       (select sum(fsyncs)::float8 from pg_stat_io where object = 'wal') as flushes`,
  );
  return row ?? { transactions: 0, flushes: 0 };
}

async function countedSteps(kind: Kind): Promise<Counted> {
  const before = await counters();
  await runSteps(kind);
  const after = await counters();
  return {
    transactions: (after.transactions - before.transactions) / count,
    flushes: (after.flushes - before.flushes) / count,
  };
}

async function measureSteps(): Promise<void> {
  await runSteps('plain');
  await runSteps('undoable');
  const best = { plain: 0, undoable: 0, commits: 0, cpu: Number.POSITIVE_INFINITY };
  for (let round = 0; round < rounds; round += 1) {
    const before = processorMs();
    best.plain = Math.max(best.plain, await perSecond(() => runSteps('plain')));
    best.cpu = Math.min(best.cpu, (processorMs() - before) / count);
    best.undoable = Math.max(best.undoable, await perSecond(() => runSteps('undoable')));
    best.commits = Math.max(best.commits, await perSecond(runCommits));
  }
  for (const [what, value, bar] of [
    ['sequential steps of one operation', best.plain, 0.2],
    ['the same, with steps that can be undone', best.undoable, 0.12],
  ] as const) {
    printRow({
      ...{ what, value: `${value.toFixed(0)} a second` },
      against: `${best.commits.toFixed(0)} fsynced commits a second`,
      ratio: value / best.commits,
      bar: `at least ${bar} of the commits`,
      met: value / best.commits >= bar,
    });
  }
  printRow({
    what: 'processor time of a step, Node and PostgreSQL',
    value: `${best.cpu.toFixed(2)} ms`,
    bar: '≤ 2 ms',
    met: best.cpu <= 2,
  });
  for (const [kind, most, flushes] of [
    ['plain', 3, 1.1],
    ['undoable', 4, 2.1],
  ] as const) {
    const found = await countedSteps(kind);
    printRow({
      what: `transactions, and waits for the disk, of a step (${kind})`,
      value: `${found.transactions.toFixed(2)}, ${found.flushes.toFixed(2)}`,
      bar: `≤ ${most}, ≤ ${flushes}`,
      met: found.transactions <= most && found.flushes <= flushes + 0.05,
    });
  }
}

async function measureJournal(): Promise<void> {
  const many = 16;
  const wide = await bench.freshStore({ poolSize: many });
  const ids = Array.from({ length: many }, (_, index) => `op-${index}`);
  for (const id of ids) {
    const request = { id, kind: 'plain', subject: id, by: 'bench', input: null, steps: [] };
    await wide.journal.create(request, Date.now());
  }

  async function writesFrom(connections: number): Promise<number> {
    const until = performance.now() + 1_500;
    let writes = 0;
    await Promise.all(
      ids.slice(0, connections).map(async (id) => {
        for (; performance.now() < until; writes += 1) await wide.journal.update(id, { state: 'running' });
      }),
    );
    return writes / 1.5;
  }

  await writesFrom(many);
  let one = 0;
  let all = 0;
  for (let round = 0; round < rounds; round += 1) {
    one = Math.max(one, await writesFrom(1));
    all = Math.max(all, await writesFrom(many));
  }
  printRow({
    what: `durable journal writes from ${many} connections`,
    value: `${all.toFixed(0)} a second`,
    against: `${one.toFixed(0)} a second from one`,
    ratio: all / one,
    bar: 'at least 2 times as many',
    met: all / one >= 2,
  });
}

async function withLive(operationCount: number): Promise<Store['journal']> {
  const { database, journal } = await bench.freshStore();
  await administer(
    database.url,
    `set imago.epoch = 0;
     insert into imago.operations (id, kind, subject, requested_by, key, input, state, created_at)
       select 'live-' || n, 'plain', 's', 'bench', 'key-' || n, '{}', 'running', now()
       from generate_series(1, ${operationCount}) n;
     insert into imago.steps (operation, position, name)
       select 'live-' || n, p, 'step-' || p from generate_series(1, ${operationCount}) n, generate_series(1, 6) p;
     analyze imago.operations, imago.steps`,
  );
  return journal;
}

async function measureQuestions(): Promise<void> {
  const few = await withLive(100);
  const many = await withLive(live);
  const askFew = await bestOf(100, () => few.isAwaitedUnder('child', 'live-1'));
  const askMany = await bestOf(100, () => many.isAwaitedUnder('child', 'live-1'));
  printRow({
    what: `whether a child may start, while ${live} operations live`,
    value: `${askMany.toFixed(2)} ms`,
    against: `${askFew.toFixed(2)} ms while 100 live`,
    ratio: askMany / askFew,
    bar: '≤ 5 ms, and ≤ 2 times as long',
    met: askMany <= 5 && askMany <= 2 * askFew,
  });
  const sweep = await bestOf(10, () => many.live());
  printRow({
    what: `what a sweep reads of ${live} live operations`,
    value: `${sweep.toFixed(0)} ms`,
    bar: '≤ 100 ms',
    met: sweep <= 100,
  });
}

await measureSteps();
await operations.stop();
await client.end();
await measureJournal();
await measureQuestions();
await bench.stop();
