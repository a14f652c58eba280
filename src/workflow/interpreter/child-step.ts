// A step that runs another operation to its end. The child tells its parent when it has ended; the parent also
// looks from time to time, so that a lost message only costs patience.
import { type ErrorRecord, ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { ChildStep, OperationRecord } from '../../ports/workflow/operation.ts';
import { type OperationRun, recorded, stepContext, timestamp, wakeTopic } from './operation-run.ts';
import { errorRecord, type StepOutcome } from './step-outcome.ts';

/** Recorded in place of an outcome: the child that was submitted. */
export interface ChildBegun {
  readonly outcome: 'child';
  readonly id: string;
}

const firstLookMs = 10_000;
const longestLookMs = 10 * 60_000;

/** The same for every run of the step, so that a child is never started twice. */
export function childId(parent: string, step: string): string {
  return `${parent}.${step}`;
}

/** Runs inside the step's record. */
export async function beginChild(
  operation: OperationRun,
  name: string,
  step: ChildStep<unknown>,
): Promise<StepOutcome | ChildBegun> {
  const { record, scribe, clock, cancel, run } = operation;
  if (cancel.aborted) return { outcome: 'cancelled', undo: false };
  const id = childId(record.id, name);
  scribe.step(name, { state: 'running', attempts: 1, startedAt: timestamp(clock) });
  scribe.operation({ state: 'running', currentStep: name, progress: undefined });
  try {
    const request = step.child(stepContext(operation, run.signal));
    if (request === undefined) return { outcome: 'passed', undo: false };
    await operation.submitChild({ ...request, id, by: record.by, osUser: record.osUser, parent: record.id });
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    if (error.retryable || error.code === 'owner-stale') throw error;
    return { outcome: 'failed', error: errorRecord(error), undo: false };
  }
  return { outcome: 'child', id };
}

export async function finishChild(
  operation: OperationRun,
  name: string,
  { id }: ChildBegun,
): Promise<StepOutcome> {
  const { run } = operation;
  for (let pause = firstLookMs; ; pause = Math.min(pause * 2, longestLookMs)) {
    await run.waitFor(wakeTopic, pause);
    const outcome = await recorded(run, `look:${name}`, () => lookAtChild(operation, id));
    if (outcome !== null) return outcome;
  }
}

async function lookAtChild(operation: OperationRun, id: string): Promise<StepOutcome | null> {
  const child = await operation.journal.get(id);
  const cancelled = operation.cancel.aborted;
  const outcome = child === undefined ? lost(id) : outcomeOf(child, cancelled);
  if (outcome === null && cancelled) await operation.cancelChild(id);
  return outcome;
}

function outcomeOf(child: OperationRecord, cancelled: boolean): StepOutcome | null {
  switch (child.state) {
    case 'succeeded':
      return {
        outcome: 'done',
        ...(child.result === undefined ? {} : { result: child.result }),
        undo: false,
      };
    case 'cancelled':
    case 'failed':
      if (cancelled && child.state === 'cancelled') return { outcome: 'cancelled', undo: false };
      return { outcome: 'failed', error: child.error ?? failedSilently(child.id), undo: false };
    default:
      return null;
  }
}

function failedSilently(id: string): ErrorRecord {
  return new ImagoError('operation-failed', `Operation ${id} failed.`).toRecord();
}

function lost(id: string): StepOutcome {
  const error = new ImagoError('operation-not-found', `Operation ${id} is not in the journal any more.`);
  return { outcome: 'failed', error: error.toRecord(), undo: false };
}
