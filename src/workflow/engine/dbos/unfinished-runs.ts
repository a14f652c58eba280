// The runs that earlier processes left unfinished, in the order of their places in the queue.
import { type DbosModule, operationWorkflows } from './workflows.ts';

export interface UnfinishedRun {
  readonly id: string;
  readonly key: string;
  readonly place: number;
}

const pageSize = 500;

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
    if (page.length < pageSize) break;
  }
  return runs.sort((one, other) => one.place - other.place);
}
