// A step that runs another operation to its end. The child notifies its parent when it has finished; the parent also
// checks periodically, so that a lost message only costs time.
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { ChildStep, OperationRecord } from '../../ports/workflow/operation.ts';
import {
  failed,
  noteStart,
  type OperationRun,
  recorded,
  type StepOutcome,
  stepContext,
  wakeTopic,
} from './operation-run.ts';

/** Recorded in place of an outcome: the child that was submitted. */
export interface ChildBegun {
  readonly outcome: 'child';
  readonly id: string;
}

const firstCheckMs = 10_000;
const maxCheckMs = 10 * 60_000;

/** Returns the same id for every run of the step, so that a child is never started twice. */
export function childId(parent: string, step: string): string {
  return `${parent}.${step}`;
}

/** Runs inside the step's record. */
export async function beginChild(
  operation: OperationRun,
  name: string,
  step: ChildStep<unknown>,
): Promise<StepOutcome | ChildBegun> {
  const { record, cancel, run, journal } = operation;
  const id = childId(record.id, name);
  if (cancel.aborted) {
    // A process that exited before it recorded the child may have submitted it: it must end before anything is undone.
    const isSubmitted = (await journal.get(id)) !== undefined;
    return isSubmitted ? { outcome: 'child', id } : { outcome: 'cancelled', undo: false };
  }
  noteStart(operation, name);
  try {
    const request = step.child(stepContext(operation, run.signal));
    if (request === undefined) return { outcome: 'passed', undo: false };
    await operation.submitChild({ ...request, id, by: record.by, osUser: record.osUser, parent: record.id });
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    if (error.retryable || error.code === 'owner-stale') throw error;
    return failed(error);
  }
  return { outcome: 'child', id };
}

export async function finishChild(
  operation: OperationRun,
  name: string,
  { id }: ChildBegun,
): Promise<StepOutcome> {
  const { run } = operation;
  for (let pause = firstCheckMs; ; pause = Math.min(pause * 2, maxCheckMs)) {
    await run.waitFor(wakeTopic, pause);
    const outcome = await recorded(run, `look:${name}`, () => checkChild(operation, id));
    if (outcome !== null) return outcome;
  }
}

async function checkChild(operation: OperationRun, id: string): Promise<StepOutcome | null> {
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
      if (child.error !== undefined) return { outcome: 'failed', error: child.error, undo: false };
      return failed(new ImagoError('operation-failed', `Operation ${child.id} failed.`));
    default:
      return null;
  }
}

function lost(id: string): StepOutcome {
  return failed(new ImagoError('operation-not-found', `Operation ${id} is no longer in the journal.`));
}
