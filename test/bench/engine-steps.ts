// How many sequential steps a second the durable engine makes of an operation, against how many single commits
// the same cluster puts on its disk. The best of some rounds, for both: what else runs only makes them slower.
import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { systemClock } from '../../src/host/system-clock.ts';
import type { OperationKind } from '../../src/ports/workflow/operation.ts';
import { createDbosEngine } from '../../src/workflow/engine/dbos/engine.ts';
import { createOperations } from '../../src/workflow/operations.ts';
import { startStoreBench } from '../support/store.ts';
import { printRow } from './row.ts';

const count = 300;
const rounds = 4;

const chain: OperationKind<unknown> = {
  kind: 'chain',
  parse: (input) => input,
  plan: async () => [],
  steps: () =>
    Array.from({ length: count }, (_, place) => ({ name: `s${place}`, do: async () => ({ place }) })),
};

async function perSecond(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return count / ((performance.now() - began) / 1000);
}

const bench = await startStoreBench({ fsync: true });
const url = await bench.freshDatabase();
const { journal, calls } = await bench.freshStore({ url });
const never = new AbortController().signal;
const operations = createOperations({
  engine: createDbosEngine({ databaseUrl: url, calls, signal: never }),
  kinds: new Map([['chain', chain]]),
  ...{ journal, clock: systemClock, newId: randomUUID },
});
const client = new Client({ connectionString: url });
await client.connect();
await client.query('create table commits (row int)');
await operations.start();

async function runSteps(): Promise<void> {
  const { id } = await operations.submit({ kind: 'chain', subject: 'bench', by: 'bench', input: null });
  await operations.ended(id, never);
}

async function runCommits(): Promise<void> {
  for (let row = 0; row < count; row += 1) await client.query('insert into commits values ($1)', [row]);
}

await runSteps();
let steps = 0;
let commits = 0;
for (let round = 0; round < rounds; round += 1) {
  steps = Math.max(steps, await perSecond(runSteps));
  commits = Math.max(commits, await perSecond(runCommits));
}
await client.end();
await operations.stop();
await bench.stop();

const bar = Math.min(100, 0.6 * commits);
printRow({
  what: 'sequential steps of one operation',
  value: `${steps.toFixed(0)} a second`,
  against: `${commits.toFixed(0)} fsynced commits a second`,
  ratio: steps / commits,
  bar: `at least ${bar.toFixed(0)} a second (100, or 60 % of the commits)`,
  met: steps >= bar,
});
