// DBOS asks the database every second for queued and delayed workflows. Imago puts nothing into its queues: they
// only hand over, at the start, what an earlier process left unfinished. After that they rest.
import type { Clock } from '../../../ports/clock.ts';
import type { Workflows } from './workflows.ts';

export interface RestOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Whether DBOS still has to hand a run over. */
  owes(): boolean;
}

const lookMs = 2_000;

/** Ends when the queues rest, or with the signal. */
export async function restQueues({ dbos, queues }: Workflows, options: RestOptions): Promise<void> {
  const { clock, signal } = options;
  while (!signal.aborted) {
    await clock.sleep(lookMs, signal).catch(() => undefined);
    if (signal.aborted || options.owes()) continue;
    const queued = await dbos.DBOS.listWorkflows({
      status: ['ENQUEUED'],
      loadInput: false,
      loadOutput: false,
      limit: 1,
    }).catch(() => undefined);
    if (queued?.length !== 0) continue;
    queues.stop();
    return;
  }
}
