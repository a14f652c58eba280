// Runs any operation: its steps in order, and back again when one fails or someone cancels. The engine calls
// it anew after every crash, so whatever decides the way is inside a recorded step (D3). The names and the order
// of the recorded calls are a format: operations that an earlier version began must find them as they were.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Interpreter, Run } from '../../ports/workflow/engine.ts';
import type { Journal, OperationRecord, OperationRequest } from '../../ports/workflow/operation.ts';
import { close, finish, hasEnded, recordBug } from './ending.ts';
import type { LiveRuns } from './live-runs.ts';
import { createScribe } from './operation-recorder.ts';
import { type Ending, type OperationRun, recorded } from './operation-run.ts';
import { type OperationKinds, readScript } from './recorded-steps.ts';
import type { StepOutcome } from './step-outcome.ts';
import { recordOutcome, takeStep, undoStep } from './take-step.ts';

export interface InterpreterDeps {
  readonly journal: Journal;
  readonly kinds: OperationKinds;
  readonly clock: Clock;
  /** The clock by which an operation's steps pause and time out; the provider's, when its time runs faster. */
  readonly workClock?: (record: OperationRecord) => Clock;
  /** Between 0 and 1, to spread retries. */
  readonly chance: () => number;
  readonly live: LiveRuns;
  submitChild(request: OperationRequest): Promise<OperationRecord>;
  cancelChild(id: string): Promise<void>;
  /** Tells the parent that the operation has ended. May be called more than once. */
  wakeParent(parent: string): Promise<void>;
}

interface Taken {
  readonly name: string;
  readonly outcome: StepOutcome;
}

const recordPauseMs = 1_000;

export function createInterpreter(deps: InterpreterDeps): Interpreter {
  return async (run) => {
    const cancel = deps.live.begin(run.id);
    try {
      await interpret(run, cancel, deps);
    } finally {
      if (!run.signal.aborted) deps.live.end(run.id);
    }
  };
}

async function interpret(run: Run, cancel: AbortSignal, deps: InterpreterDeps): Promise<void> {
  const record = await readRecord(run, deps);
  if (record.cancelRequestedBy !== undefined && !hasEnded(record)) deps.live.cancel(run.id);
  const operation = openOperation(run, record, cancel, deps);
  try {
    await walk(operation);
  } catch (thrown) {
    if (!run.signal.aborted) await recordBug(operation, thrown);
    throw thrown;
  }
}

/** The record is read outside of any recorded step: what decides the way in it never changes. */
async function readRecord(run: Run, { journal, clock }: InterpreterDeps): Promise<OperationRecord> {
  for (;;) {
    const record = await journal.get(run.id).catch(() => 'away' as const);
    if (record === undefined) throw new ImagoError('operation-not-found', `There is no operation ${run.id}.`);
    if (record !== 'away') return record;
    await clock.sleep(recordPauseMs, run.signal);
  }
}

function openOperation(
  run: Run,
  record: OperationRecord,
  cancel: AbortSignal,
  deps: InterpreterDeps,
): OperationRun {
  const { journal, clock, chance, submitChild, cancelChild, wakeParent } = deps;
  return {
    ...{ run, record, journal, clock, chance, cancel, submitChild, cancelChild, wakeParent },
    workClock: deps.workClock?.(record) ?? clock,
    script: readScript(record, deps.kinds),
    scribe: createScribe({ journal, id: record.id, clock, signal: run.signal }),
    results: new Map(),
    attempts: new Map(record.steps.map((step) => [step.name, step.attempts])),
  };
}

async function walk(operation: OperationRun): Promise<void> {
  const taken: Taken[] = [];
  const ending = await forward(operation, taken);
  if (ending.state === 'succeeded') return;
  const exceptions = await back(operation, taken);
  await recorded(operation.run, 'close', () => close(operation, ending, exceptions));
}

async function forward(operation: OperationRun, taken: Taken[]): Promise<Ending> {
  for (const { name } of operation.record.steps) {
    const outcome = await takeStep(operation, name);
    taken.push({ name, outcome });
    recordOutcome(operation, name, outcome);
    if (outcome.outcome === 'failed') return { state: 'failed', error: outcome.error };
    if (outcome.outcome === 'cancelled') return { state: 'cancelled' };
  }
  return recorded(operation.run, 'finish', () => finish(operation));
}

/** Undoes what was begun, last first; what could not be undone is told in sentences. */
async function back(operation: OperationRun, taken: readonly Taken[]): Promise<readonly string[]> {
  const exceptions: string[] = [];
  for (const { name, outcome } of taken.toReversed()) {
    if (!outcome.undo) continue;
    const undone = await recorded(operation.run, `undo:${name}`, () => undoStep(operation, name));
    if (undone.outcome !== 'undo-failed') continue;
    exceptions.push(`Step ${name} could not be undone: ${undone.error.message}`);
  }
  return exceptions;
}
