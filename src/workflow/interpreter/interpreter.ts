// Runs any operation: its steps in order, and undoes them if one fails or the operation is cancelled. The engine calls it
// again after every crash, so everything that decides the way is inside a recorded step (D3). The names and the order of
// the recorded calls are a format: operations that an earlier version started must find them unchanged.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Interpreter, Run } from '../../ports/workflow/engine.ts';
import type { OperationRecord } from '../../ports/workflow/operation.ts';
import { runBody } from '../engine/run-body.ts';
import { close, finish, hasEnded, recordBug } from './ending.ts';
import type { LiveRuns } from './live-runs.ts';
import { createScribe } from './operation-recorder.ts';
import { type Ending, type OperationRun, recorded, type StepOutcome } from './operation-run.ts';
import { type OperationKinds, readScript } from './recorded-steps.ts';
import { recordOutcome, takeStep, undoStep } from './take-step.ts';

export interface InterpreterDeps
  extends Pick<OperationRun, 'journal' | 'clock' | 'chance' | 'submitChild' | 'cancelChild' | 'wakeParent'> {
  readonly kinds: OperationKinds;
  /** Returns the clock of an operation's pauses and deadlines: the provider's, if its time runs faster. */
  readonly workClock?: ((record: OperationRecord) => Clock) | undefined;
  readonly live: LiveRuns;
}

interface Taken {
  readonly name: string;
  readonly outcome: StepOutcome;
}

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

/** Reads the record outside of any recorded step: the parts of it that decide the way never change. */
async function readRecord(run: Run, { journal, clock }: InterpreterDeps): Promise<OperationRecord> {
  const record = await runBody(() => journal.get(run.id), { clock, signal: run.signal });
  if (record === undefined) throw new ImagoError('operation-not-found', `There is no operation ${run.id}.`);
  return record;
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

/** Undoes the started steps, last first. Returns a message for each that could not be undone. */
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
