// A step that looks now and then until something outside is so: people who approve, a day that comes. Between two
// looks nothing is held but a line in the engine's record.
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { UntilStep } from '../../ports/workflow/operation.ts';
import { type OperationRun, recorded, stepContext, timestamp, wakeTopic } from './operation-run.ts';
import { errorRecord, type StepOutcome } from './step-outcome.ts';

/** Recorded in place of an outcome: the step has begun to look, and until when it does. */
export interface UntilBegun {
  readonly outcome: 'until';
  readonly until: number;
}

/** What one look found, if it did not end the step. */
interface NotYet {
  readonly outcome: 'not-yet';
  readonly againMs: number;
}

const shortestPauseMs = 100;
const longestPauseMs = 10 * 60_000;
const troublePauseMs = 10_000;

/** Runs inside the step's record. */
export async function beginUntil(
  operation: OperationRun,
  name: string,
  step: UntilStep<unknown>,
): Promise<StepOutcome | UntilBegun> {
  const { scribe, clock, cancel, run } = operation;
  if (cancel.aborted) return { outcome: 'cancelled', undo: false };
  const { timeoutMs } = step.patience(stepContext(operation, run.signal));
  scribe.step(name, { state: 'running', attempts: 1, startedAt: timestamp(clock) });
  scribe.operation({ state: 'running', currentStep: name, progress: undefined });
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
      const error = new ImagoError('operation-wait-timeout', `It took too long: ${found.sentence}.`, {
        retryable: false,
      });
      return { outcome: 'failed', error: error.toRecord(), undo: false };
    }
    scribe.operation({ state: 'waiting', progress: { done: 0, total: 1, sentence: found.sentence } });
    await scribe.flush();
    return notYet(Math.min(found.againMs, until - clock.now()));
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    if (run.signal.aborted || error.code === 'owner-stale') throw error;
    if (cancel.aborted) return { outcome: 'cancelled', undo: false };
    if (error.retryable && clock.now() < until) return notYet(troublePauseMs);
    return { outcome: 'failed', error: errorRecord(error), undo: false };
  }
}

function notYet(againMs: number): NotYet {
  return { outcome: 'not-yet', againMs: Math.max(shortestPauseMs, Math.min(againMs, longestPauseMs)) };
}
