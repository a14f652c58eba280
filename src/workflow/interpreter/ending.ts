// Finishes operations: once the end is safe in the journal the operation has finished, and its parent is notified.
import { type ErrorRecord, ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { Json } from '../../domain/value/json.ts';
import type { OperationRecord, OperationState } from '../../ports/workflow/operation.ts';
import { runBody } from '../engine/run-body.ts';
import { type Ending, errorRecord, type OperationRun, stepContext, timestamp } from './operation-run.ts';

const endedStates: ReadonlySet<OperationState> = new Set(['succeeded', 'failed', 'cancelled']);

export function hasEnded(record: Pick<OperationRecord, 'state'>): boolean {
  return endedStates.has(record.state);
}

/** Finishes an operation whose steps are all done. A cancel has no effect after this. */
export async function finish(operation: OperationRun): Promise<Ending> {
  if (operation.cancel.aborted) return { state: 'cancelled' };
  let result: Json | undefined;
  try {
    result = resultOf(operation);
    // A result that cannot be recorded throws here, and not at each write to the journal.
    JSON.stringify(result);
  } catch (thrown) {
    return { state: 'failed', error: errorRecord(ensureImagoError(thrown)) };
  }
  operation.scribe.operation({
    ...ended(operation, 'succeeded'),
    ...(result === undefined ? {} : { result }),
  });
  await settle(operation);
  return { state: 'succeeded' };
}

/** Finishes an operation whose steps are undone, as far as possible. */
export async function close(
  operation: OperationRun,
  ending: Ending,
  exceptions: readonly string[],
): Promise<null> {
  const error = ending.state === 'failed' ? ending.error : await cancelledBy(operation);
  operation.scribe.operation({ ...ended(operation, ending.state), error, exceptions });
  await settle(operation);
  return null;
}

/** Finishes an operation that the interpreter cannot continue, so that it does not seem to run indefinitely. */
export async function recordBug(operation: OperationRun, thrown: unknown): Promise<void> {
  const { scribe, record, clock, run } = operation;
  const error = errorRecord(ensureImagoError(thrown));
  const open = record.steps.filter((step) => step.state !== 'pending' && step.state !== 'skipped');
  const exceptions = open.map(
    (step) => `Step ${step.name} (${step.state}) was left as it is: ${error.message}`,
  );
  scribe.operation({ ...ended(operation, 'failed'), error, exceptions });
  await runBody(() => scribe.flush(), { clock, signal: run.signal });
}

function ended({ record, clock }: OperationRun, state: OperationState) {
  const endedAt = record.endedAt ?? timestamp(clock);
  return { state, endedAt, currentStep: undefined, progress: undefined } as const;
}

function resultOf(operation: OperationRun): Json | undefined {
  const { script, record, results, run } = operation;
  if (script.kind?.result !== undefined) return script.kind.result(stepContext(operation, run.signal));
  const last = record.steps.at(-1);
  return last && results.get(script.nameToday(last.name));
}

async function cancelledBy({ journal, record }: OperationRun): Promise<ErrorRecord> {
  const by = (await journal.get(record.id))?.cancelRequestedBy ?? 'A user';
  return new ImagoError('cancelled', `${by} cancelled the operation.`).toRecord();
}

async function settle({ scribe, record, wakeParent }: OperationRun): Promise<void> {
  await scribe.flush();
  if (record.parent !== undefined) await wakeParent(record.parent);
}
