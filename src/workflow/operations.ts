// Submits, cancels, and retries operations. Everything in the journal is run: live operations are enqueued again at every
// start and periodically, which does nothing to those that run.
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
  /** Returns the clock of an operation's pauses and deadlines: the provider's, if its time runs faster. */
  readonly workClock?: (record: OperationRecord) => Clock;
  /** Names new operations; must never return the same name twice. */
  readonly newId: () => string;
  /** Returns a number between 0 and 1, to spread retries. Defaults to `Math.random`. */
  readonly chance?: () => number;
  /** Called for errors in the background, for the daemon's log. */
  readonly onTrouble?: (error: ImagoError) => void;
}

export interface Operations extends OperationDesk {
  /** Starts the engine and resumes everything that is recorded and unfinished. Call it once. */
  start(): Promise<void>;
  /** Stops the engine; operations stay recorded and resume at the next start. */
  stop(): Promise<void>;
}

const sweepMs = 30_000;
const checkMs = 1_000;

export function createOperations(options: OperationsOptions): Operations {
  const { engine, journal, kinds, clock } = options;
  const live = createLiveRuns();
  const stopping = new AbortController();
  const interpreter = createInterpreter({
    ...{ journal, kinds, clock, live, workClock: options.workClock, chance: options.chance ?? Math.random },
    ...{ submitChild: submit, cancelChild, wakeParent },
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

  /** The operation will run from here on: the next sweep repeats a failed enqueue. */
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

  /** Cancels a step in progress, a waiting one, and a run that has not started, which need not wait for its turn. */
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

  /** A process killed between two writes can have left an operation unqueued, or a cancel unhandled. */
  async function sweep(): Promise<void> {
    for (const record of await journal.live()) {
      await engine.enqueue(record.id, { key: record.key });
      if (record.cancelRequestedBy !== undefined) await spreadCancel(record);
    }
  }

  async function sweepPeriodically(): Promise<void> {
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
      void sweepPeriodically();
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
      const request = { kind, subject, input, key: requestedKey(record), by, osUser, retryOf: id };
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
          await clock.sleep(checkMs, AbortSignal.any([signal, nap.signal])).catch(() => undefined);
        } finally {
          forget();
        }
      }
    },
  };
}

/** Ignores a journal that is unreachable for a moment: it is read again. */
function undefinedWhenAway(thrown: unknown): undefined {
  if (!ensureImagoError(thrown).retryable) throw thrown;
}

/**
 * Returns the key to run under. A child that requests the key of one of its parents works under that parent's hold, with
 * a separate key: its parent waits for it, so nothing else can run at the same time.
 */
async function keyUnder(
  request: Pick<OperationRequest, 'subject' | 'parent'> & { readonly key?: string | undefined },
  id: string,
  journal: Journal,
): Promise<string> {
  const { parent, key = request.subject } = request;
  const isHeld = parent !== undefined && (await journal.isHeldBy(key, parent));
  return isHeld ? `${key}${under(id)}` : key;
}

/** Returns the key that was requested, even if a parent held it. */
function requestedKey({ id, key }: OperationRecord): string {
  return key.endsWith(under(id)) ? key.slice(0, -under(id).length) : key;
}

function under(id: string): string {
  return ` under ${id}`;
}

/** Throws `operation-busy` if an operation with the key waits for this child's parent: both would wait forever. */
async function refuseDeadlock(key: string, parent: string, journal: Journal): Promise<void> {
  if (!(await journal.isAwaitedUnder(key, parent))) return;
  throw new ImagoError('operation-busy', `${key} is held by an operation that waits for ${parent}.`, {
    hint: 'Cancel one of the two.',
  });
}
