// A daemon's engine room in a process of its own, for tests that kill it: lease, journal, DBOS, and a kind of
// operation whose every act is a line in a ledger outside of the database, safe on disk before it counts.
import { randomUUID } from 'node:crypto';
import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectClient } from '../../src/database/connection/connection.ts';
import { acquireLease } from '../../src/database/lease/lease.ts';
import { openStore } from '../../src/database/open-database.ts';
import { systemClock } from '../../src/host/system-clock.ts';
import type { Lease } from '../../src/ports/database/lease.ts';
import type { OperationKind, StepContext, WorkStep } from '../../src/ports/workflow/operation.ts';
import { createDbosEngine } from '../../src/workflow/engine/dbos/engine.ts';
import { createOperations } from '../../src/workflow/operations.ts';

export interface WorkerOptions {
  readonly url: string;
  readonly ledger: string;
  readonly operation: string;
  /** How long each step takes. */
  readonly stepMs: number;
  /** Where it kills itself: `before step-3` acts, `within step-3`, or `after step-3` acted and before it is recorded. */
  readonly dieAt?: string;
  /** Which version of the code this process has: the new one has a step more, one renamed and one less. */
  readonly code?: 'old' | 'new';
  /** How far the clock of this process is off. */
  readonly clockMs?: number;
}

export const stepNames: readonly string[] = Array.from({ length: 12 }, (_, place) => `step-${place + 1}`);
/** The exit code of a worker whose lease is lost. */
export const leaseLostCode = 75;

async function work(options: WorkerOptions): Promise<void> {
  shiftClock(options.clockMs ?? 0);
  const lease = await acquireLease({
    connect: () => connectClient(options.url),
    onWaiting: () => say('standing by'),
  });
  lease.signal.addEventListener('abort', () => setTimeout(() => process.exit(leaseLostCode), 100));
  await workUnder(lease, options).catch(async (error) => {
    if (!lease.signal.aborted) throw error;
    await sleep(1_000);
  });
}

async function workUnder(lease: Lease, options: WorkerOptions): Promise<void> {
  const { url, operation } = options;
  say('active');
  const store = openStore({ url, epoch: lease.epoch });
  const operations = createOperations({
    engine: createDbosEngine({
      ...{ databaseUrl: url, calls: store.calls, signal: lease.signal, patienceMs: 200, log: complain },
    }),
    journal: store.journal,
    kinds: new Map([['ledger', ledgerKind(options)]]),
    clock: systemClock,
    newId: randomUUID,
  });
  await operations.start();
  await operations.submit({ id: operation, kind: 'ledger', subject: 'ledger', by: 'test', input: null });
  say(JSON.stringify(await operations.ended(operation, lease.signal)));
  await operations.stop();
  process.exit(0);
}

function ledgerKind(options: WorkerOptions): OperationKind<unknown> {
  function note(act: string, name: string): void {
    const file = openSync(options.ledger, 'a');
    writeSync(file, `${act} ${name} ${process.pid}\n`);
    fsyncSync(file);
    closeSync(file);
  }

  function dieIf(moment: string): void {
    if (options.dieAt === moment) process.kill(process.pid, 'SIGKILL');
  }

  function step(name: string): WorkStep<unknown> {
    return {
      name,
      async do(context) {
        dieIf(`before ${name}`);
        note('begin', name);
        await sleep(options.stepMs / 2, undefined, { signal: context.signal });
        dieIf(`within ${name}`);
        await sleep(options.stepMs / 2, undefined, { signal: context.signal });
        note('do', name);
        dieIf(`after ${name}`);
        return { name, seen: resultsBefore(context, name) };
      },
      async undo() {
        note('undo', name);
        return undefined;
      },
    };
  }

  /** The names under which earlier steps recorded their results: what this step knows of them. */
  function resultsBefore(context: StepContext<unknown>, name: string): string[] {
    const before = names.slice(0, names.indexOf(name));
    return before.flatMap((one) => context.result<{ name: string }>(one)?.name ?? []);
  }

  const names = options.code === 'new' ? newNames() : stepNames;
  return {
    kind: 'ledger',
    parse: (input) => input,
    plan: async () => [],
    steps: () => names.map(step),
    renamed: { 'step-7': 'better-7' },
    removed: ['step-9'],
  };
}

function newNames(): readonly string[] {
  return stepNames
    .filter((name) => name !== 'step-9')
    .flatMap((name) => (name === 'step-6' ? [name, 'inserted'] : [name.replace('step-7', 'better-7')]));
}

function shiftClock(ms: number): void {
  const now = Date.now.bind(Date);
  Date.now = () => now() + ms;
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}

function complain(level: string, line: string): void {
  process.stderr.write(`${level}: ${line}\n`);
}

const [, program, given] = process.argv;
if (program === import.meta.filename && given !== undefined) await work(JSON.parse(given));
