// A step that checks periodically until an external condition holds: an approval, a date. Between two checks it holds
// nothing but a line in the engine's record.
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { UntilStep } from '../../ports/workflow/operation.ts';
import {
  failed,
  noteStart,
  type OperationRun,
  recorded,
  type StepOutcome,
  stepContext,
  wakeTopic,
} from './operation-run.ts';

/** Recorded in place of an outcome: the step checks until this time. */
export interface UntilBegun {
  readonly outcome: 'until';
  readonly until: number;
}

/** The result of a check that did not finish the step. */
interface NotYet {
  readonly outcome: 'not-yet';
  readonly againMs: number;
}

const minPauseMs = 100;
const maxPauseMs = 10 * 60_000;
const errorPauseMs = 10_000;

/** Runs inside the step's record. */
export async function beginUntil(
  operation: OperationRun,
  name: string,
  step: UntilStep<unknown>,
): Promise<StepOutcome | UntilBegun> {
  const { clock, cancel, run } = operation;
  if (cancel.aborted) return { outcome: 'cancelled', undo: false };
  const { timeoutMs } = step.patience(stepContext(operation, run.signal));
  noteStart(operation, name);
  return { outcome: 'until', until: clock.now() + timeoutMs };
}

export async function finishUntil(
  operation: OperationRun,
  name: string,
  step: UntilStep<unknown>,
  begun: UntilBegun,
): Promise<StepOutcome> {
  const { run } = operation;
  for (;;) {
    const found = await recorded(run, `look:${name}`, () => look(operation, step, begun));
    if (found.outcome !== 'not-yet') return found;
    await run.waitFor(wakeTopic, found.againMs);
  }
}

async function look(
  operation: OperationRun,
  step: UntilStep<unknown>,
  { until }: UntilBegun,
): Promise<StepOutcome | NotYet> {
  const { run, cancel, clock, scribe } = operation;
  if (cancel.aborted) return { outcome: 'cancelled', undo: false };
  try {
    const found = await step.look(stepContext(operation, AbortSignal.any([run.signal, cancel])));
    if ('done' in found) {
      scribe.operation({ state: 'running', progress: undefined });
      return { outcome: 'done', ...(found.done === null ? {} : { result: found.done }), undo: false };
    }
    if (clock.now() >= until) {
      const message = `It took too long: ${found.sentence}.`;
      return failed(new ImagoError('operation-wait-timeout', message, { retryable: false }));
    }
    scribe.operation({ state: 'waiting', progress: { done: 0, total: 1, sentence: found.sentence } });
    await scribe.flush();
    return notYet(Math.min(found.againMs, until - clock.now()));
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    if (run.signal.aborted || error.code === 'owner-stale') throw error;
    if (cancel.aborted) return { outcome: 'cancelled', undo: false };
    if (error.retryable && clock.now() < until) return notYet(errorPauseMs);
    return failed(error);
  }
}

function notYet(againMs: number): NotYet {
  return { outcome: 'not-yet', againMs: Math.max(minPauseMs, Math.min(againMs, maxPauseMs)) };
}
