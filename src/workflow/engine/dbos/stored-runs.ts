// The runs in the tables of DBOS: those that earlier processes left unfinished, and the finished ones, which DBOS would
// store permanently.
import type { CallRecords } from '../../../ports/workflow/engine.ts';
import { type DbosModule, type EngineLog, operationWorkflows } from './workflows.ts';

export interface UnfinishedRun {
  readonly id: string;
  readonly key: string;
  readonly place: number;
}

const pageSize = 500;
const retainedMs = 7 * 24 * 3_600_000;
const firstPruneMs = 60_000;
const pruneEveryMs = 3_600_000;
const batch = 200;

/** Returns the unfinished runs in the order of their places in the queue. */
export async function unfinishedRuns({ DBOS }: DbosModule): Promise<readonly UnfinishedRun[]> {
  const runs: UnfinishedRun[] = [];
  for (;;) {
    const page = await DBOS.listWorkflows({
      workflowName: [...operationWorkflows],
      status: ['PENDING', 'ENQUEUED'],
      loadInput: true,
      loadOutput: false,
      limit: pageSize,
      offset: runs.length,
    });
    for (const { workflowID, input } of page) {
      const [key, place] = input ?? [];
      runs.push({ id: workflowID, key: String(key), place: Number(place) });
    }
    if (page.length < pageSize) return runs.sort((one, other) => one.place - other.place);
  }
}

/**
 * Deletes finished runs and their calls soon after the start and then every hour, until the returned function is called.
 * The journal, which users read, has its own retention.
 */
export function pruneRuns(dbos: DbosModule, calls: CallRecords, log: EngineLog): () => void {
  async function prune(): Promise<void> {
    await forgetRunsBefore(dbos, calls, Date.now() - retainedMs).catch((error) => {
      log('warn', `Finished runs could not be deleted: ${String(error)}`);
    });
    timer = setTimeout(prune, pruneEveryMs).unref();
  }
  let timer = setTimeout(prune, firstPruneMs).unref();
  return () => clearTimeout(timer);
}

/** Deletes the runs that finished before that time. Returns their number. */
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
