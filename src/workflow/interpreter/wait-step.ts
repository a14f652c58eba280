// A step that waits for someone outside. While it waits nothing is held but a line in the engine's record.
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import type { Json } from '../../domain/value/json.ts';
import type { WaitStep } from '../../ports/workflow/operation.ts';
import {
  type OperationRun,
  recorded,
  stepContext,
  timestamp,
  type WakeMessage,
  wakeTopic,
} from './operation-run.ts';
import { errorRecord, type StepOutcome } from './step-outcome.ts';

/** Recorded in place of an outcome: the operation waits, and since when. */
export interface WaitBegun {
  readonly outcome: 'waiting';
  readonly topic: string;
  readonly until: number;
  readonly timeoutMs: number;
}

/** Runs inside the step's record. */
export async function beginWait(
  operation: OperationRun,
  name: string,
  step: WaitStep<unknown>,
): Promise<StepOutcome | WaitBegun> {
  const { scribe, clock, cancel, run } = operation;
  if (cancel.aborted) return { outcome: 'cancelled', undo: false };
  let asked: ReturnType<typeof step.wait>;
  try {
    asked = step.wait(stepContext(operation, run.signal));
  } catch (thrown) {
    return { outcome: 'failed', error: errorRecord(ensureImagoError(thrown)), undo: false };
  }
  const { topic, timeoutMs, sentence } = asked;
  scribe.step(name, { state: 'running', attempts: 1, startedAt: timestamp(clock) });
  scribe.operation({ state: 'waiting', currentStep: name, progress: { done: 0, total: 1, sentence } });
  await scribe.flush();
  if (cancel.aborted) return { outcome: 'cancelled', undo: false };
  return { outcome: 'waiting', topic, until: clock.now() + timeoutMs, timeoutMs };
}

/** Goes on when the message comes, the time is up or the operation is cancelled: as the engine recorded it. */
export async function finishWait(
  operation: OperationRun,
  name: string,
  begun: WaitBegun,
): Promise<StepOutcome> {
  const { run, inbox, clock } = operation;
  for (;;) {
    const place = inbox.findIndex((message) => message.kind === 'cancel' || isFor(message, begun.topic));
    const message = place === -1 ? undefined : inbox.splice(place, 1)[0];
    if (message !== undefined) return endWait(operation, name, message);
    const left = Math.max(1, Math.min(begun.timeoutMs, begun.until - clock.now()));
    const woken = (await run.waitFor(wakeTopic, left)) as WakeMessage | undefined;
    if (woken === undefined) return endWait(operation, name, undefined, begun);
    inbox.push(woken);
  }
}

function isFor(message: WakeMessage, topic: string): boolean {
  return message.kind === 'message' && message.topic === topic;
}

function endWait(
  operation: OperationRun,
  name: string,
  message: WakeMessage | undefined,
  begun?: WaitBegun,
): Promise<StepOutcome> {
  const { run, scribe } = operation;
  return recorded<StepOutcome>(run, `waited:${name}`, async () => {
    scribe.operation({ state: 'running', progress: undefined });
    if (message?.kind === 'message')
      return { outcome: 'done', result: message.body satisfies Json, undo: false };
    if (message !== undefined) return { outcome: 'cancelled', undo: false };
    const error = new ImagoError(
      'operation-wait-timeout',
      `Nobody answered on ${begun?.topic} within ${Math.round((begun?.timeoutMs ?? 0) / 1000)} s.`,
      { retryable: false },
    );
    return { outcome: 'failed', error: error.toRecord(), undo: false };
  });
}
