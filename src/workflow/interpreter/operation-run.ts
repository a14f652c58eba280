// One run of an operation: what its steps share while this process runs them.
import type { ErrorRecord } from '../../domain/error/imago-error.ts';
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

/** A message on this topic makes a run that waits look for what has changed. What it says does not matter. */
export const wakeTopic = 'wake';

/** How the way forward ended. */
export type Ending =
  | { readonly state: 'succeeded' }
  | { readonly state: 'failed'; readonly error: ErrorRecord }
  | { readonly state: 'cancelled' };

export interface OperationRun {
  readonly run: Run;
  readonly record: OperationRecord;
  readonly script: Script;
  readonly scribe: Scribe;
  readonly journal: Journal;
  readonly clock: Clock;
  readonly workClock: Clock;
  readonly chance: () => number;
  /** Aborted when someone cancelled the operation. */
  readonly cancel: AbortSignal;
  /** Results by the names that today's code gives the steps. */
  readonly results: Map<string, Json>;
  /** How often each step has been begun, by this process and those before it. */
  readonly attempts: Map<string, number>;
  submitChild(request: OperationRequest): Promise<OperationRecord>;
  cancelChild(id: string): Promise<void>;
  wakeParent(parent: string): Promise<void>;
}

/** Runs the body once and for all; what it returns is recorded and must survive a trip through JSON. */
export async function recorded<T>(run: Run, name: string, body: () => Promise<T>): Promise<T> {
  const value = await run.step(name, async () => JSON.parse(JSON.stringify(await body())) as Json);
  return value as T;
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

/** The time now, as records have it. */
export function timestamp(clock: Clock): string {
  return new Date(clock.now()).toISOString();
}
