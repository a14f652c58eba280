// Follows an operation by its events, which contain what changed, and reads its record when it finishes. Survives a
// restart of the daemon. Ctrl-C detaches; the operation continues.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from '../../api/client/client.ts';
import type { ResponseOf } from '../../api/contract/types.ts';
import {
  type ErrorRecord,
  ensureImagoError,
  errorFromRecord,
  ImagoError,
} from '../../domain/error/imago-error.ts';
import { createProgress, type ProgressView } from '../output/progress.ts';
import type { Invocation } from '../spec/command.ts';
import { ensureLocalDaemon } from './connect.ts';

type Operation = ResponseOf<'showOperation'>;
type Step = Operation['steps'][number];

const goneCodes: ReadonlySet<string> = new Set([
  'daemon-not-running',
  'daemon-connection-lost',
  'daemon-standby',
]);
const endedStates: ReadonlySet<string> = new Set(['succeeded', 'failed', 'cancelled']);
/** The stages of a step. One that is undone was done or failed before. */
const endedSteps: ReadonlySet<string> = new Set(['done', 'skipped', 'failed']);
const undoneSteps: ReadonlySet<string> = new Set(['undone', 'undo-failed']);

/** `known` is the record, if the caller has just got it. */
export async function followOperation(
  invocation: Invocation,
  client: Client,
  id: string,
  known?: Operation,
): Promise<Operation> {
  const view = createProgress(invocation.out, process.stderr, () => performance.now());
  const shown = new Map<string, string>();
  try {
    let operation =
      known === undefined || known.state === 'queued' ? await readOperation(invocation, client, id) : known;
    if (operation.state === 'queued' && operation.waitsFor !== undefined)
      view.line(`Queued behind ${operation.waitsFor}`);
    show(invocation, view, operation, shown);
    if (!endedStates.has(operation.state)) {
      let isDisconnected = false;
      const onDisconnect = () => {
        if (!isDisconnected) view.line('The daemon disconnected. Waiting for it; the operation is not lost.');
        isDisconnected = true;
        ensureLocalDaemon().catch(() => undefined);
      };
      const watch = {
        subject: `operation/${operation.id}`,
        after: 0,
        signal: invocation.signal,
        onDisconnect,
      };
      for await (const event of client.events(watch)) {
        isDisconnected = false;
        if (event.type === 'operation.log') continue;
        operation = changedBy(operation, event);
        if (!endedStates.has(operation.state)) {
          show(invocation, view, operation, shown);
          continue;
        }
        operation = await readOperation(invocation, client, id);
        show(invocation, view, operation, shown);
        break;
      }
    }
    view.end();
    return requireSuccess(operation);
  } catch (thrown) {
    view.end();
    if (!invocation.signal.aborted) throw thrown;
    const { reason } = invocation.signal;
    const isTimeout = reason instanceof ImagoError && reason.code === 'command-timeout';
    const why = isTimeout ? reason.message : 'Detached.';
    throw new ImagoError(isTimeout ? 'command-timeout' : 'cancelled', `${why} Operation ${id} continues.`, {
      hint: `Watch it with \`imago op watch ${id}\`, stop it with \`imago op cancel ${id}\`.`,
    });
  }
}

/** Reads the record, and waits for a daemon that restarts. */
async function readOperation(invocation: Invocation, client: Client, id: string): Promise<Operation> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await client.call('showOperation', { path: { operation: id } }, { signal: invocation.signal });
    } catch (thrown) {
      const error = ensureImagoError(thrown);
      if (!goneCodes.has(error.code) || tries >= 60) throw error;
      await ensureLocalDaemon().catch(() => undefined);
      await sleep(500, undefined, { signal: invocation.signal });
    }
  }
}

/** Events that are older than the record are sent again: a step never returns to an earlier stage. */
function changedBy(operation: Operation, { type, data }: ResponseOf<'watchEvents'>): Operation {
  if (type !== 'operation.step') {
    const { currentStep: _step, progress: _progress, ...rest } = operation;
    return { ...rest, ...(data as Pick<Operation, 'state' | 'currentStep' | 'progress'>) };
  }
  const { step: name, ...change } = data as Omit<Step, 'name'> & { readonly step: string };
  const steps = operation.steps.map((step) =>
    step.name === name && stageOf(change) >= stageOf(step) ? { ...step, ...change } : step,
  );
  return { ...operation, steps };
}

function stageOf({ state }: Pick<Step, 'state'>): number {
  if (undoneSteps.has(state)) return 3;
  if (endedSteps.has(state)) return 2;
  return state === 'running' ? 1 : 0;
}

function show(
  invocation: Invocation,
  view: ProgressView,
  operation: Operation,
  shown: Map<string, string>,
): void {
  for (const step of operation.steps) {
    if (shown.get(step.name) === step.state) continue;
    shown.set(step.name, step.state);
    const line = stepLine(invocation, step);
    if (line !== undefined) view.line(line);
  }
  const { currentStep, progress } = operation;
  const runs = operation.steps.some((step) => step.name === currentStep && step.state === 'running');
  if (currentStep !== undefined && runs) {
    view.update(currentStep, progress?.done, progress?.total, progress?.sentence ?? '');
  }
}

export function stepLine(invocation: Invocation, step: Step): string | undefined {
  const { style } = invocation.out;
  const took = seconds(step);
  if (step.state === 'done') return `${style.green('✓')} ${step.name}${took}`;
  if (step.state === 'skipped') return `${style.green('✓')} ${step.name} (already done)`;
  if (step.state === 'failed') return `${style.red('✗')} ${step.name}${took}`;
  if (step.state === 'undone') return `${style.yellow('↶')} ${step.name} undone`;
  if (step.state === 'undo-failed') return `${style.red('!')} ${step.name} could not be undone`;
  return undefined;
}

function seconds(step: Step): string {
  if (step.startedAt === undefined || step.endedAt === undefined) return '';
  const ms = Date.parse(step.endedAt) - Date.parse(step.startedAt);
  return ` ${(Math.max(0, ms) / 1000).toFixed(1)} s`;
}

function requireSuccess(operation: Operation): Operation {
  if (operation.state === 'succeeded') return operation;
  const exceptions = operation.exceptions.map((exception) => ` Not undone: ${exception}`).join('');
  if (operation.state === 'cancelled') {
    const undone = operation.steps.filter(({ state }) => state === 'undone').map(({ name }) => name);
    const what = undone.length === 0 ? 'Nothing was undone.' : `Undone: ${undone.join(', ')}.`;
    throw new ImagoError('cancelled', `Operation ${operation.id} was cancelled. ${what}${exceptions}`);
  }
  const error = operation.error as ErrorRecord | undefined;
  if (error === undefined)
    throw new ImagoError('operation-failed', `Operation ${operation.id} failed.${exceptions}`);
  throw errorFromRecord({
    ...error,
    message: `${error.message}${exceptions}`,
    hint:
      error.hint ??
      `See \`imago op show ${operation.id}\`; try again with \`imago op retry ${operation.id}\`.`,
  });
}
