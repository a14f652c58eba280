// One run of an operation: what its steps share while this process runs them, and what is recorded of each step.
import type { ErrorRecord, ImagoError } from '../../domain/error/imago-error.ts';
import type { Json } from '../../domain/value/json.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Run } from '../../ports/workflow/engine.ts';
import type {
  Journal,
  OperationRecord,
  OperationRequest,
  StepContext,
} from '../../ports/workflow/operation.ts';
import type { Scribe } from './operation-recorder.ts';
import type { Script } from './recorded-steps.ts';

/** A message on this topic makes a waiting run check what has changed. Its content is ignored. */
export const wakeTopic = 'wake';

/** How the way forward ended. */
export type Ending =
  | { readonly state: 'succeeded' }
  | { readonly state: 'failed'; readonly error: ErrorRecord }
  | { readonly state: 'cancelled' };

/**
 * Everything that decides how an operation continues, and nothing else, so that it takes the same way again after a
 * crash. `undo`: whether there is something to undo if the operation does not succeed.
 */
export type StepOutcome =
  | {
      /** `skipped` if it was already done before the operation started: then it is not undone either. */
      readonly outcome: 'done' | 'skipped';
      readonly result?: Json;
      readonly undo: boolean;
    }
  | { readonly outcome: 'failed'; readonly error: ErrorRecord; readonly undo: boolean }
  | { readonly outcome: 'cancelled'; readonly undo: boolean }
  /** A step that no longer exists in this version of Imago. */
  | { readonly outcome: 'passed'; readonly undo: false };

export type UndoOutcome =
  /** `kept`: nothing was undone, on purpose. */
  { readonly outcome: 'undone' | 'kept' } | { readonly outcome: 'undo-failed'; readonly error: ErrorRecord };

export interface OperationRun {
  readonly run: Run;
  readonly record: OperationRecord;
  readonly script: Script;
  readonly scribe: Scribe;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly workClock: Clock;
  /** Aborted when the operation is cancelled. */
  readonly cancel: AbortSignal;
  /** Results by the current names of the steps. */
  readonly results: Map<string, Json>;
  /** How often each step was started, by this process and earlier ones. */
  readonly attempts: Map<string, number>;
  /** Returns a number between 0 and 1, to spread retries. */
  readonly chance: () => number;
  submitChild(request: OperationRequest): Promise<OperationRecord>;
  cancelChild(id: string): Promise<void>;
  /** Notifies the parent that the operation has finished. Can be called more than once. */
  wakeParent(parent: string): Promise<void>;
}

/** Runs the body once and records its result, which must survive a trip through JSON. */
export async function recorded<T>(run: Run, name: string, body: () => Promise<T>): Promise<T> {
  const value = await run.step(name, async () => JSON.parse(JSON.stringify(await body())) as Json);
  return value as T;
}

/** Returns the error as it can be recorded: without details that do not survive a trip through JSON. */
export function errorRecord(error: ImagoError): ErrorRecord {
  const { details, ...record } = error.toRecord();
  try {
    return details === undefined ? record : { ...record, details: JSON.parse(JSON.stringify(details)) };
  } catch {
    return record;
  }
}

/** Returns the outcome of a step that failed with nothing to undo. */
export function failed(error: ImagoError): StepOutcome {
  return { outcome: 'failed', error: errorRecord(error), undo: false };
}

/** Records that a step without attempts of its own has started. */
export function noteStart({ scribe, clock }: OperationRun, name: string): void {
  scribe.step(name, { state: 'running', attempts: 1, startedAt: timestamp(clock) });
  scribe.operation({ state: 'running', currentStep: name, progress: undefined });
}

export function stepContext(operation: OperationRun, signal: AbortSignal): StepContext<unknown> {
  const { record, script, scribe, results, clock } = operation;
  const { id, kind, subject, by, osUser } = record;
  return {
    operation: { id, kind, subject, by, osUser },
    input: script.input,
    result: <T extends Json>(step: string) => results.get(step) as T | undefined,
    signal,
    clock,
    progress: (done, total, sentence) => scribe.progress({ done, total, sentence }),
    log: (line) => scribe.log(line),
  };
}

/** Returns the current time in the format of records. */
export function timestamp(clock: Clock): string {
  return new Date(clock.now()).toISOString();
}
