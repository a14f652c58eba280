// How many sequential steps a second the durable engine makes of an operation, against how many single commits
// the same cluster puts on its disk: prints one line of JSON.
import { randomUUID } from 'node:crypto';
import { Client } from 'pg';
import { createDbosEngine } from '../../src/engine/dbos/dbos-engine.ts';
import { systemClock } from '../../src/engine/system-clock.ts';
import { createOperations } from '../../src/operations/operations.ts';
import type { OperationKind } from '../../src/ports/operation.ts';
import { startStoreBench } from '../support/store.ts';

const steps = 300;
const commits = 300;
const rounds = 3;

const chain: OperationKind<unknown> = {
  kind: 'chain',
  parse: (input) => input,
  plan: async () => [],
  steps: () =>
    Array.from({ length: steps }, (_, place) => ({ name: `s${place}`, do: async () => ({ place }) })),
};

async function perSecond(count: number, work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return count / ((performance.now() - began) / 1000);
}

async function measureCommits(client: Client): Promise<number> {
  return perSecond(commits, async () => {
    for (let row = 0; row < commits; row += 1) await client.query('insert into commits values ($1)', [row]);
  });
}

const bench = await startStoreBench({ fsync: true });
const url = await bench.freshDatabase();
const lease = new AbortController();
const journaled = await bench.freshStore({ url });
const operations = createOperations({
  engine: createDbosEngine({ databaseUrl: url, signal: lease.signal }),
  journal: journaled.journal,
  kinds: new Map([['chain', chain]]),
  clock: systemClock,
  newId: randomUUID,
});
const client = new Client({ connectionString: url });
await client.connect();
await client.query('create table commits (row int)');
await operations.start();

async function measureSteps(): Promise<number> {
  return perSecond(steps, async () => {
    const { id } = await operations.submit({ kind: 'chain', subject: 'bench', by: 'bench', input: null });
    await operations.ended(id, lease.signal);
  });
}

await measureSteps();
const measured: { steps: number; commits: number }[] = [];
for (let round = 0; round < rounds; round += 1) {
  measured.push({ steps: await measureSteps(), commits: await measureCommits(client) });
}

await client.end();
await operations.stop();
await bench.stop();

const middle = (values: readonly number[]) => values.toSorted((one, other) => one - other)[rounds >> 1] ?? 0;
const value = middle(measured.map((one) => one.steps));
const fsyncedCommits = middle(measured.map((one) => one.commits));
const bar = Math.min(100, 0.6 * fsyncedCommits);
const round = (number: number) => Math.round(number * 10) / 10;
const report = {
  name: 'sequential steps',
  unit: 'steps/s',
  value: round(value),
  bar: round(bar),
  atLeast: true,
  ratio: Math.round((100 * value) / fsyncedCommits) / 100,
  fsyncedCommitsPerSecond: round(fsyncedCommits),
  passed: value >= bar,
};
process.stdout.write(`${JSON.stringify(report)}\n`);
process.exitCode = report.passed ? 0 : 1;
