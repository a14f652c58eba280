// DBOS keeps every run and every recorded step for ever. What has ended is only kept here for a while: the
// journal is where people look, and it keeps its own.
import type { EngineLog } from './log.ts';
import type { DbosModule } from './workflows.ts';

const keptMs = 7 * 24 * 3_600_000;
const firstLookMs = 60_000;
const lookEveryMs = 3_600_000;
const batch = 200;

/** Looks soon after the start and then every hour, until the returned function is called. */
export function forgetEndedRuns(dbos: DbosModule, log: EngineLog): () => void {
  async function look(): Promise<void> {
    await forgetRunsBefore(dbos, Date.now() - keptMs).catch((error) => {
      log('warn', `Ended runs could not be removed: ${String(error)}`);
    });
    timer = setTimeout(look, lookEveryMs).unref();
  }
  let timer = setTimeout(look, firstLookMs).unref();
  return () => clearTimeout(timer);
}

/** Removes what ended before that time, and says how much it was. */
export async function forgetRunsBefore({ DBOS }: DbosModule, time: number): Promise<number> {
  for (let forgotten = 0; ; ) {
    const ended = await DBOS.listWorkflows({
      status: ['SUCCESS', 'ERROR', 'CANCELLED'],
      completedBefore: new Date(time).toISOString(),
      loadInput: false,
      loadOutput: false,
      limit: batch,
    });
    if (ended.length > 0) await DBOS.deleteWorkflows(ended.map((run) => run.workflowID));
    forgotten += ended.length;
    if (ended.length < batch) return forgotten;
  }
}
