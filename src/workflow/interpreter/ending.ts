// How an operation ends: once the end is safe in the journal it has ended, and its parent is told.
import { type ErrorRecord, ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { Json } from '../../domain/value/json.ts';
import type { OperationRecord, OperationState } from '../../ports/workflow/operation.ts';
import { type Ending, type OperationRun, stepContext, timestamp } from './operation-run.ts';
import { errorRecord } from './step-outcome.ts';

const endedStates: ReadonlySet<OperationState> = new Set(['succeeded', 'failed', 'cancelled']);
const tryAgainMs = 1_000;

export function hasEnded(record: Pick<OperationRecord, 'state'>): boolean {
  return endedStates.has(record.state);
}

/** All steps are done. The last moment at which a cancel is heard: after this the operation has succeeded. */
export async function finish(operation: OperationRun): Promise<Ending> {
  if (operation.cancel.aborted) return { state: 'cancelled' };
  let result: Json | undefined;
  try {
    result = resultOf(operation);
    // What cannot be recorded throws here, and not in the journal again and again.
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

/** Everything that could be undone is undone. */
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

/** An interpreter that cannot go on leaves no operation that seems to run for ever. */
export async function recordBug(operation: OperationRun, thrown: unknown): Promise<void> {
  const { scribe, record, clock, run } = operation;
  const error = errorRecord(ensureImagoError(thrown));
  const open = record.steps.filter((step) => step.state !== 'pending' && step.state !== 'skipped');
  const exceptions = open.map(
    (step) => `Step ${step.name} (${step.state}) was left as it is: ${error.message}`,
  );
  scribe.operation({ ...ended(operation, 'failed'), error, exceptions });
  while (!run.signal.aborted) {
    const written = await scribe.flush().then(
      () => true,
      () => false,
    );
    if (written) return;
    await clock.sleep(tryAgainMs, run.signal).catch(() => undefined);
  }
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
  const by = (await journal.get(record.id))?.cancelRequestedBy ?? 'Someone';
  return new ImagoError('cancelled', `${by} cancelled the operation.`).toRecord();
}

async function settle({ scribe, record, wakeParent }: OperationRun): Promise<void> {
  await scribe.flush();
  if (record.parent !== undefined) await wakeParent(record.parent);
}
