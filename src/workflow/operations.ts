// The way in to operations. What is recorded in the journal is run, whatever happens between the two: live
// operations are enqueued again at every start and from time to time, which does nothing to those that run.
import { ensureImagoError, ImagoError } from '../domain/error/imago-error.ts';
import type { Clock } from '../ports/clock.ts';
import type { Engine } from '../ports/workflow/engine.ts';
import type {
  Journal,
  LiveOperation,
  OperationDesk,
  OperationRecord,
  OperationRequest,
} from '../ports/workflow/operation.ts';
import { askedKey, keyUnder, refuseDeadlock } from './child-key.ts';
import { hasEnded } from './interpreter/ending.ts';
import { createInterpreter } from './interpreter/interpreter.ts';
import { createLiveRuns } from './interpreter/live-runs.ts';
import { wakeTopic } from './interpreter/operation-run.ts';
import { type OperationKinds, requireKind, stepNames } from './interpreter/recorded-steps.ts';

export interface OperationsOptions {
  readonly engine: Engine;
  readonly journal: Journal;
  readonly kinds: OperationKinds;
  readonly clock: Clock;
  /** The clock by which an operation's steps pause and time out; the provider's, when its time runs faster. */
  readonly workClock?: (record: OperationRecord) => Clock;
  /** Names new operations; must never give the same name twice. */
  readonly newId: () => string;
  /** Between 0 and 1, to spread retries. Defaults to `Math.random`. */
  readonly chance?: () => number;
  /** Told what went wrong in the background, for the daemon's log. */
  readonly onTrouble?: (error: ImagoError) => void;
}

export interface Operations extends OperationDesk {
  /** Starts the engine and takes up everything that is recorded and has not ended. Call once. */
  start(): Promise<void>;
  /** Stops the engine; operations stay recorded and go on at the next start. */
  stop(): Promise<void>;
}

const sweepMs = 30_000;
const lookMs = 1_000;

export function createOperations(options: OperationsOptions): Operations {
  const { engine, journal, kinds, clock } = options;
  const live = createLiveRuns();
  const stopping = new AbortController();
  const interpreter = createInterpreter({
    ...{ journal, kinds, clock, live },
    ...(options.workClock === undefined ? {} : { workClock: options.workClock }),
    chance: options.chance ?? Math.random,
    submitChild: submit,
    cancelChild,
    wakeParent,
  });

  function trouble(thrown: unknown): void {
    options.onTrouble?.(ensureImagoError(thrown));
  }

  async function wakeRun(id: string): Promise<void> {
    await engine.send(id, wakeTopic, null);
  }

  async function wakeParent(parent: string): Promise<void> {
    await wakeRun(parent).catch((thrown) => {
      if (ensureImagoError(thrown).code !== 'operation-not-found') throw thrown;
    });
  }

  async function recordOf(id: string): Promise<OperationRecord> {
    const record = await journal.get(id);
    if (record === undefined) throw new ImagoError('operation-not-found', `There is no operation ${id}.`);
    return record;
  }

  async function requireLive(id: string): Promise<OperationRecord> {
    const record = await recordOf(id);
    if (!hasEnded(record)) return record;
    throw new ImagoError('operation-ended', `Operation ${id} has ended: ${record.state}.`);
  }

  /** From here on the operation will run: what fails now is made up for by the next sweep. */
  async function enqueue(record: LiveOperation): Promise<void> {
    await engine.enqueue(record.id, { key: record.key }).catch(trouble);
  }

  async function submit(request: OperationRequest): Promise<OperationRecord> {
    const kind = requireKind(kinds, request.kind);
    const input = kind.parse(request.input);
    const steps = stepNames(kind, input);
    const id = request.id ?? options.newId();
    const key = await keyUnder({ ...request, key: request.key ?? kind.key?.(input, id) }, id, journal);
    if (request.parent !== undefined) await refuseDeadlock(key, request.parent, journal);
    const record = await journal.create({ ...request, id, key, steps }, clock.now());
    if (!hasEnded(record)) await enqueue(record);
    return record;
  }

  async function cancel(id: string, by: string): Promise<OperationRecord> {
    await requireLive(id);
    await journal.requestCancel(id, by);
    const record = await recordOf(id);
    await enqueue(record);
    await spreadCancel(record).catch(trouble);
    return record;
  }

  /** To a step that is under way, to one that waits, and to a run that has not begun: it need not wait to end. */
  async function spreadCancel(record: LiveOperation): Promise<void> {
    live.cancel(record.id);
    if (record.state === 'undoing') return;
    await engine.letPass(record.id);
    await wakeRun(record.id);
  }

  async function cancelChild(id: string): Promise<void> {
    const record = await recordOf(id);
    if (hasEnded(record)) return;
    const parent = record.parent === undefined ? undefined : await journal.get(record.parent);
    await cancel(id, parent?.cancelRequestedBy ?? record.by).catch((thrown) => {
      if (ensureImagoError(thrown).code !== 'operation-ended') throw thrown;
    });
  }

  /** A process that died between two of its writes may have left an operation unqueued, or a cancel unheard. */
  async function sweep(): Promise<void> {
    for (const record of await journal.live()) {
      await engine.enqueue(record.id, { key: record.key });
      if (record.cancelRequestedBy !== undefined) await spreadCancel(record);
    }
  }

  async function sweepNowAndThen(): Promise<void> {
    while (!stopping.signal.aborted) {
      await clock.sleep(sweepMs, stopping.signal).catch(() => undefined);
      if (!stopping.signal.aborted) await sweep().catch(trouble);
    }
  }

  async function plan(
    request: OperationRequest,
    options?: { readonly preview: boolean },
  ): Promise<readonly string[]> {
    const kind = requireKind(kinds, request.kind);
    const input = kind.parse(request.input);
    if (request.whenBusy === 'refuse') {
      await journal.requireFree(request.key ?? kind.key?.(input, request.id ?? '') ?? request.subject);
    }
    return kind.plan(input, request, options?.preview);
  }

  return {
    async start() {
      await engine.start(interpreter);
      await sweep().catch(trouble);
      void sweepNowAndThen();
    },
    async stop() {
      stopping.abort();
      await engine.stop();
    },
    plan,
    async prepare(request) {
      const kind = requireKind(kinds, request.kind);
      return (await kind.prepare?.(kind.parse(request.input), request)) ?? {};
    },
    submit,
    cancel,
    async retry(id, by, newId, osUser) {
      const record = await recordOf(id);
      if (!hasEnded(record)) {
        throw new ImagoError('operation-busy', `Operation ${id} has not ended yet: ${record.state}.`);
      }
      const { kind, subject, input } = record;
      const request = { kind, subject, input, key: askedKey(record), by, osUser, retryOf: id };
      return submit({ ...request, ...(newId === undefined ? {} : { id: newId }) });
    },
    async wake(id) {
      const record = await requireLive(id);
      await engine.enqueue(id, { key: record.key });
      await wakeRun(id);
    },
    async ended(id, signal) {
      for (;;) {
        signal.throwIfAborted();
        const nap = new AbortController();
        const forget = live.onEnd(id, () => nap.abort());
        try {
          const record = await recordOf(id).catch(undefinedWhenAway);
          if (record !== undefined && hasEnded(record)) return record;
          await clock.sleep(lookMs, AbortSignal.any([signal, nap.signal])).catch(() => undefined);
        } finally {
          forget();
        }
      }
    },
  };
}

/** A journal that is away for a moment is looked into again. */
function undefinedWhenAway(thrown: unknown): undefined {
  if (!ensureImagoError(thrown).retryable) throw thrown;
}
