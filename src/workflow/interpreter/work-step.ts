// Performs one ordinary step, and undoes it: check first, act, and trust only what is read back (D4).
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Json } from '../../domain/value/json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { StepContext, WorkStep } from '../../ports/workflow/operation.ts';
import { attempt } from './attempt.ts';
import { errorRecord, type StepOutcome, type UndoOutcome } from './operation-run.ts';
import { asStepError, retryPause } from './retry.ts';

/** The environment of a step: its clocks, its signals, and where its start is recorded. */
export interface StepSite {
  readonly clock: Clock;
  /** The clock of pauses and deadlines. */
  readonly workClock: Clock;
  readonly chance: () => number;
  /** Aborted when this process must no longer act: then the step is neither done nor failed. */
  readonly stop: AbortSignal;
  /** Aborted when the operation is cancelled. */
  readonly cancel: AbortSignal;
  /** Whether an earlier process had started the step. */
  readonly begunBefore: boolean;
  /** Records that the step is about to act; durably if it is `undoable`. */
  begin(undoable: boolean): Promise<void>;
  context(signal: AbortSignal): StepContext<unknown>;
}

const defaultTries = 5;
const defaultTimeoutMs = 60 * 60_000;

type Try = { readonly outcome: StepOutcome } | { readonly error: ImagoError };

export async function performWork(step: WorkStep<unknown>, site: StepSite): Promise<StepOutcome> {
  const undoable = step.undo !== undefined;
  const active = AbortSignal.any([site.stop, site.cancel]);
  let begun = site.begunBefore;

  function ended(outcome: 'done' | 'skipped', result: Json | undefined): StepOutcome {
    return {
      outcome,
      ...(result === undefined || result === null ? {} : { result }),
      undo: begun && undoable,
    };
  }

  async function tryOnce(): Promise<Try> {
    if (site.cancel.aborted) return { outcome: { outcome: 'cancelled', undo: begun && undoable } };
    const found = await caught(() => read(step, site, active), site);
    if ('error' in found) return found;
    if (found.value !== undefined) return { outcome: ended(begun ? 'done' : 'skipped', found.value) };
    await site.begin(undoable);
    begun = true;
    const acted = await caught(() => act(step, site, active), site);
    return 'error' in acted ? acted : { outcome: ended('done', acted.value) };
  }

  for (let tried = 1; ; tried += 1) {
    const answer = await tryOnce();
    if ('outcome' in answer) return answer.outcome;
    if (site.cancel.aborted) continue;
    const { error } = answer;
    if (!error.retryable || tried >= (step.tries ?? defaultTries)) {
      const found = begun ? await caught(() => read(step, site, active), site) : answer;
      if ('value' in found && found.value !== undefined) return ended('done', found.value);
      return { outcome: 'failed', error: errorRecord(error), undo: begun && undoable };
    }
    await pause(error, tried, site, active);
  }
}

export async function undoWork(step: WorkStep<unknown>, site: StepSite): Promise<UndoOutcome> {
  for (let tried = 1; ; tried += 1) {
    const undone = await caught(() => putBack(step, site), site);
    if (!('error' in undone)) return { outcome: undone.value };
    const { error } = undone;
    if (tried >= Math.max(step.tries ?? 0, defaultTries))
      return { outcome: 'undo-failed', error: errorRecord(error) };
    await pause(error, tried, site, site.stop);
  }
}

async function act(step: WorkStep<unknown>, site: StepSite, signal: AbortSignal): Promise<Json | undefined> {
  const said = await limited(`Step ${step.name}`, step, site, signal, (context) => step.do(context));
  if (step.verify === undefined) return said;
  const found = await read(step, site, signal);
  if (found === undefined) {
    throw new ImagoError(
      'operation-verify-failed',
      `Step ${step.name} was done, but reading back does not show it.`,
    );
  }
  return found ?? said ?? null;
}

async function putBack(step: WorkStep<unknown>, site: StepSite): Promise<'undone' | 'kept'> {
  const undone = await limited(`Undoing step ${step.name}`, step, site, site.stop, async (context) =>
    step.undo?.(context),
  );
  if (undone === 'kept') return 'kept';
  if ((await read(step, site, site.stop)) !== undefined) {
    throw new ImagoError(
      'operation-verify-failed',
      `Step ${step.name} was undone, but reading back still shows its effect.`,
    );
  }
  return 'undone';
}

async function read(step: WorkStep<unknown>, site: StepSite, signal: AbortSignal): Promise<Json | undefined> {
  if (step.verify === undefined) return undefined;
  return limited(`Checking step ${step.name}`, step, site, signal, async (context) => step.verify?.(context));
}

function limited<T>(
  description: string,
  step: WorkStep<unknown>,
  site: StepSite,
  signal: AbortSignal,
  body: (context: StepContext<unknown>) => Promise<T>,
): Promise<T> {
  const { clock, workClock } = site;
  const timeoutMs = step.timeoutMs ?? defaultTimeoutMs;
  return attempt((limit) => body(site.context(limit)), { clock, workClock, timeoutMs, signal, description });
}

/** Returns errors as values, except those of a process that must no longer act. */
async function caught<T>(
  work: () => Promise<T>,
  site: StepSite,
): Promise<{ readonly value: T } | { readonly error: ImagoError }> {
  try {
    return { value: await work() };
  } catch (thrown) {
    const error = asStepError(thrown);
    if (site.stop.aborted || error.code === 'owner-stale') throw error;
    return { error };
  }
}

async function pause(error: ImagoError, tried: number, site: StepSite, signal: AbortSignal): Promise<void> {
  const ms = retryPause(error, tried, site.chance());
  site.context(signal).log(`${error.message} Trying again in ${Math.ceil(ms / 1000)} s.`);
  await site.workClock.sleep(ms, signal).catch(() => undefined);
  site.stop.throwIfAborted();
}
