// Takes one recorded step of an operation, regardless of its kind, and records the outcome.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { StepState } from '../../ports/workflow/operation.ts';
import { beginChild, type ChildBegun, finishChild } from './child-step.ts';
import {
  errorRecord,
  failed,
  type OperationRun,
  recorded,
  type StepOutcome,
  stepContext,
  timestamp,
  type UndoOutcome,
} from './operation-run.ts';
import type { FoundStep } from './recorded-steps.ts';
import { beginUntil, finishUntil, type UntilBegun } from './until-step.ts';
import { performWork, type StepSite, undoWork } from './work-step.ts';

export async function takeStep(operation: OperationRun, name: string): Promise<StepOutcome> {
  const answer = await recorded(operation.run, `do:${name}`, () => beginStep(operation, name));
  if (answer.outcome === 'child') return finishChild(operation, name, answer);
  if (answer.outcome === 'until') return takeUp(operation, name, answer);
  return answer;
}

/** Finds the step again after a crash. A step that no longer exists in the code cannot continue. */
async function takeUp(operation: OperationRun, name: string, begun: UntilBegun): Promise<StepOutcome> {
  const found = operation.script.find(name);
  if ('step' in found && 'look' in found.step) return finishUntil(operation, name, found.step, begun);
  if ('removed' in found) return { outcome: 'passed', undo: false };
  return failed('error' in found ? found.error : new ImagoError('internal', `Step ${name} no longer waits.`));
}

async function beginStep(
  operation: OperationRun,
  name: string,
): Promise<StepOutcome | ChildBegun | UntilBegun> {
  const { script, record, scribe, clock } = operation;
  if (record.startedAt === undefined && name === record.steps[0]?.name) {
    scribe.operation({ state: 'running', startedAt: timestamp(clock) });
  }
  const found = script.find(name);
  const begunBefore = isBegun(operation, name);
  if ('removed' in found) return { outcome: 'passed', undo: false };
  if ('error' in found) return { outcome: 'failed', error: errorRecord(found.error), undo: begunBefore };
  const { step } = found;
  if ('child' in step) return beginChild(operation, name, step);
  if ('look' in step) return beginUntil(operation, name, step);
  scribe.operation({ state: 'running', currentStep: name, progress: undefined });
  return storable(name, await performWork(step, siteOf(operation, name, begunBefore)));
}

/** A result that cannot be recorded would be requested in a loop, so it fails the step. */
function storable(name: string, outcome: StepOutcome): StepOutcome {
  try {
    JSON.stringify(outcome);
    return outcome;
  } catch (thrown) {
    const reason = thrown instanceof Error ? thrown.message : String(thrown);
    const error = new ImagoError('internal', `The result of step ${name} cannot be recorded: ${reason}`);
    return { ...failed(error), undo: outcome.undo } as StepOutcome;
  }
}

/** Runs inside the record of the step's undoing. */
export async function undoStep(operation: OperationRun, name: string): Promise<UndoOutcome> {
  const { scribe, clock, script } = operation;
  scribe.operation({ state: 'undoing', currentStep: name, progress: undefined });
  const found = script.find(name);
  const step = 'step' in found && 'do' in found.step ? found.step : undefined;
  const undone = step?.undo ? await undoWork(step, siteOf(operation, name, true)) : cannotUndo(found);
  // The record of a step that was kept on purpose does not change.
  if (undone.outcome === 'kept') return undone;
  scribe.step(name, {
    state: undone.outcome,
    endedAt: timestamp(clock),
    ...('error' in undone ? { error: undone.error } : {}),
  });
  return undone;
}

/**
 * Stores the step's result for later steps, and updates its line in the journal to what the engine has recorded, even if
 * a crash came between the two.
 */
export function recordOutcome(operation: OperationRun, name: string, outcome: StepOutcome): void {
  const { scribe, clock, record, results, script } = operation;
  if ('result' in outcome && outcome.result !== undefined)
    results.set(script.nameToday(name), outcome.result);
  const state = journalState(outcome, isBegun(operation, name));
  const known = record.steps.find((step) => step.name === name)?.state;
  if (known === state || known === 'undone' || known === 'undo-failed') return;
  scribe.step(name, {
    state,
    endedAt: timestamp(clock),
    ...('result' in outcome ? { result: outcome.result } : {}),
    ...('error' in outcome ? { error: outcome.error } : {}),
  });
}

function siteOf(operation: OperationRun, name: string, begunBefore: boolean): StepSite {
  const { run, clock, workClock, chance, cancel, scribe, attempts } = operation;
  return {
    ...{ clock, workClock, chance, cancel, begunBefore },
    stop: run.signal,
    async begin(undoable) {
      const count = (attempts.get(name) ?? 0) + 1;
      attempts.set(name, count);
      const startedAt = count === 1 ? { startedAt: timestamp(clock) } : {};
      scribe.step(name, { state: 'running', attempts: count, ...startedAt });
      if (undoable) await scribe.flush();
    },
    context: (signal) => stepContext(operation, signal),
  };
}

function isBegun({ attempts }: OperationRun, name: string): boolean {
  return (attempts.get(name) ?? 0) > 0;
}

function journalState(outcome: StepOutcome, begun: boolean): StepState {
  switch (outcome.outcome) {
    case 'passed':
      return 'skipped';
    case 'cancelled':
      return begun ? 'failed' : 'pending';
    default:
      return outcome.outcome;
  }
}

function cannotUndo(found: FoundStep): UndoOutcome {
  const message = 'This version of Imago cannot undo a step of an earlier one.';
  const error = 'error' in found ? found.error : new ImagoError('operation-unknown-step', message);
  return { outcome: 'undo-failed', error: errorRecord(error) };
}
