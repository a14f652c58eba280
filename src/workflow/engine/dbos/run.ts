// One run on DBOS, as the interpreter sees it.

import type { Slots } from '../../../async/slots.ts';
import type { Json } from '../../../domain/value/json.ts';
import type { Clock } from '../../../ports/clock.ts';
import type { Run } from '../../../ports/workflow/engine.ts';
import { never, runBody, unlessStopped } from '../run-body.ts';
import type { DbosModule } from './workflows.ts';

export interface DbosRunOptions {
  readonly dbos: DbosModule;
  readonly id: string;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly slots: Slots;
  onThrow(error: unknown): void;
  /** Called when a step begins; what it returns, when the step is recorded or was stopped. */
  track(): () => void;
}

/** DBOS gives no value for a message that did not come, and `null` may be one. */
interface Envelope {
  readonly message: Json;
}

export function createDbosRun(options: DbosRunOptions): Run {
  const { dbos, id, signal, clock, slots, onThrow } = options;
  const { DBOS, DBOSWorkflowConflictError } = dbos;

  /** Another process has taken the run over when DBOS refuses a record: then this one has nothing more to say. */
  async function owned<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await unlessStopped(work(), signal);
    } catch (error) {
      if (error instanceof DBOSWorkflowConflictError) return never();
      throw error;
    }
  }

  function step<T>(name: string, body: () => Promise<T>): Promise<T> {
    return owned(() =>
      slots.use(async () => {
        const onStopped = options.track();
        const retried = () => runBody(body, { clock, signal, onThrow, onStopped });
        return DBOS.runStep(retried, { name }).finally(onStopped);
      }),
    );
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
