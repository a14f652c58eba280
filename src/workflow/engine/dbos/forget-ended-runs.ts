// DBOS keeps every run forever. Runs that have ended are deleted after a while, with their calls: people look into the
// journal, which has a retention of its own.
import type { CallRecords } from '../../../ports/workflow/engine.ts';
import type { EngineLog } from './log.ts';
import type { DbosModule } from './workflows.ts';

const keptMs = 7 * 24 * 3_600_000;
const firstLookMs = 60_000;
const lookEveryMs = 3_600_000;
const batch = 200;

/** Looks soon after the start and then every hour, until the returned function is called. */
export function forgetEndedRuns(dbos: DbosModule, calls: CallRecords, log: EngineLog): () => void {
  async function look(): Promise<void> {
    await forgetRunsBefore(dbos, calls, Date.now() - keptMs).catch((error) => {
      log('warn', `Ended runs could not be removed: ${String(error)}`);
    });
    timer = setTimeout(look, lookEveryMs).unref();
  }
  let timer = setTimeout(look, firstLookMs).unref();
  return () => clearTimeout(timer);
}

/** Removes what ended before that time, and says how much it was. */
export async function forgetRunsBefore(
  { DBOS }: DbosModule,
  calls: CallRecords,
  time: number,
): Promise<number> {
  for (let forgotten = 0; ; ) {
    const ended = await DBOS.listWorkflows({
      status: ['SUCCESS', 'ERROR', 'CANCELLED'],
      completedBefore: new Date(time).toISOString(),
      loadInput: false,
      loadOutput: false,
      limit: batch,
    });
    const ids = ended.map((run) => run.workflowID);
    if (ids.length > 0) {
      await calls.forget(ids);
      await DBOS.deleteWorkflows(ids);
    }
    forgotten += ended.length;
    if (ended.length < batch) return forgotten;
  }
}
