// DBOS is one for the whole process: its workflows are registered once, and act for whichever engine is the
// process's current one. It is loaded on demand.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { never } from '../run-body.ts';

export type DbosModule = typeof import('@dbos-inc/dbos-sdk');

/** What the workflows do, given by the engine that runs now. */
export interface WorkflowHost {
  operation(id: string, key: string, place: number): Promise<void>;
  tick(schedule: string, at: string): Promise<void>;
}

export interface Workflows {
  readonly dbos: DbosModule;
  /** What looks into DBOS's queues; every launch starts it anew. */
  readonly queues: { stop(): void };
  operation(key: string, place: number): Promise<void>;
  tick(schedule: string, at: string): Promise<void>;
}

export const operationWorkflow = 'operation';
const tickWorkflow = 'tick';

/** DBOS gives a workflow up after 100 recoveries; an operation is never given up. */
const maxRecoveryAttempts = 1_000_000_000;
/** After the database was away, DBOS looks for it again at least this often. */
const longestBackoffSeconds = 5;
/** No workflow of ours has a deadline that DBOS would have to watch. */
const deadlineLookMs = 3_600_000;

let host: WorkflowHost | undefined;
let loading: Promise<Workflows> | undefined;

export function loadWorkflows(): Promise<Workflows> {
  loading ??= register();
  return loading;
}

/** Makes the engine the process's current one; the returned function ends that. */
export function takeHost(given: WorkflowHost): () => void {
  if (host !== undefined) {
    throw new ImagoError('internal', 'This process runs a durable engine already, and DBOS allows only one.');
  }
  host = given;
  return () => {
    if (host === given) host = undefined;
  };
}

async function register(): Promise<Workflows> {
  const [dbos, { dbRetryConfig }, { workflowTimeoutConfig }, { wfQueueRunner }] = await Promise.all([
    import('@dbos-inc/dbos-sdk'),
    import('@dbos-inc/dbos-sdk/internal/utils'),
    import('@dbos-inc/dbos-sdk/internal/workflow_management'),
    import('@dbos-inc/dbos-sdk/internal/wfqueue'),
  ]);
  dbRetryConfig.maxBackoffSec = longestBackoffSeconds;
  workflowTimeoutConfig.pollingIntervalMs = deadlineLookMs;
  const { DBOS } = dbos;

  async function operation(key: string, place: number): Promise<void> {
    await (host?.operation(DBOS.workflowID ?? '', key, place) ?? never());
  }

  async function tick(schedule: string, at: string): Promise<void> {
    await (host?.tick(schedule, at) ?? never());
  }

  return {
    dbos,
    queues: wfQueueRunner,
    operation: DBOS.registerWorkflow(operation, { name: operationWorkflow, maxRecoveryAttempts }),
    tick: DBOS.registerWorkflow(tick, { name: tickWorkflow, maxRecoveryAttempts }),
  };
}
