// One run on DBOS, as the interpreter sees it.
import type { Slots } from '../../../async/slots.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import type { Json } from '../../../domain/value/json.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { CallRecords, RecordedCall, Run } from '../../../ports/workflow/engine.ts';
import { type BodyOptions, never, runBody, unlessStopped } from '../run-body.ts';
import type { DbosModule } from './workflows.ts';

export interface DbosRunOptions {
  readonly dbos: DbosModule;
  readonly id: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly slots: Slots;
  /** Where steps are recorded. Defaults to DBOS, as in runs of earlier versions. */
  readonly calls?: CallRecords | undefined;
  onThrow(error: unknown): void;
  /** Called when a step starts. The returned function is called when the step is recorded or was stopped. */
  track(): () => void;
}

/** DBOS returns `null` for a message that did not arrive, and `null` can be a message. */
interface Envelope {
  readonly message: Json;
}

export function createDbosRun(options: DbosRunOptions): Run {
  const { dbos, id, signal, clock, slots, calls, onThrow } = options;
  const { DBOS, DBOSWorkflowConflictError } = dbos;
  let recorded: Map<number, RecordedCall> | undefined;
  let nextPlace = 0;

  /** DBOS refuses a record if another process has taken over the run: then this one must not continue. */
  async function owned<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await unlessStopped(work(), signal);
    } catch (error) {
      if (error instanceof DBOSWorkflowConflictError) return never();
      throw error;
    }
  }

  function inSlot<T>(work: (body: BodyOptions) => Promise<T>): Promise<T> {
    return slots.use(() => {
      const onStopped = options.track();
      return work({ clock, signal, onThrow, onStopped }).finally(onStopped);
    });
  }

  /** A result that is not recorded would be lost, so recording it is retried until it succeeds. */
  async function recordedStep<T extends Json>(
    records: CallRecords,
    name: string,
    body: () => Promise<T>,
  ): Promise<T> {
    recorded ??= await readCalls(records);
    const place = nextPlace++;
    const known = recorded.get(place);
    if (known !== undefined) return replay<T>(known, name);
    return inSlot(async (bodyOptions) => {
      const value = await runBody(body, bodyOptions);
      await runBody(() => records.add(id, { place, name, value }), bodyOptions);
      return value;
    });
  }

  async function readCalls(records: CallRecords): Promise<Map<number, RecordedCall>> {
    const known = await runBody(() => records.read(id), { clock, signal, onThrow });
    return new Map(known.map((call) => [call.place, call]));
  }

  function replay<T extends Json>({ place, name, value }: RecordedCall, asked: string): T {
    if (name === asked) return value as T;
    throw new ImagoError('internal', `Run ${id} asked for "${asked}" where call ${place} was "${name}".`);
  }

  function step<T extends Json>(name: string, body: () => Promise<T>): Promise<T> {
    if (calls !== undefined) return unlessStopped(recordedStep(calls, name, body), signal);
    return owned(() => inSlot((bodyOptions) => DBOS.runStep(() => runBody(body, bodyOptions), { name })));
  }

  return {
    id,
    signal,
    step,
    async sleep(name, ms) {
      const until = await step(`sleep:${name}`, async () => clock.now() + ms);
      await clock.sleep(Math.min(ms, until - clock.now()), signal).catch(never);
    },
    async waitFor(topic, timeoutMs) {
      const timeoutSeconds = Math.max(1, timeoutMs) / 1000;
      const envelope = await owned(() => DBOS.recv<Envelope>(topic, { timeoutSeconds }));
      return envelope?.message;
    },
  };
}

export function wrapMessage(message: Json): Envelope {
  return { message };
}
