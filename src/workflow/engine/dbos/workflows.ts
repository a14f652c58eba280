// DBOS is one for the whole process: its workflows are registered once, and act for whichever engine is the
// process's current one. It is loaded on demand.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { never } from '../run-body.ts';

export type DbosModule = typeof import('@dbos-inc/dbos-sdk');

/** Where a run records its steps: in Imago's own table, or in DBOS's, as runs of earlier versions do to their end. */
export type StepRecords = 'own' | 'dbos';

/** What the workflows do, given by the engine that runs now. */
export interface WorkflowHost {
  operation(id: string, key: string, records: StepRecords): Promise<void>;
  tick(schedule: string, at: string): Promise<void>;
}

export interface Workflows {
  readonly dbos: DbosModule;
  operation(key: string, place: number): Promise<void>;
  tick(schedule: string, at: string): Promise<void>;
}

/** The names in DBOS's tables: operations of today, and those of versions that recorded their steps in DBOS. */
export const operationWorkflows = ['operation-2', 'operation'] as const;

/** DBOS gives a workflow up after 100 recoveries; an operation is never given up. */
const maxRecoveryAttempts = 1_000_000_000;

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
  const dbos = await import('@dbos-inc/dbos-sdk');
  const { DBOS } = dbos;

  function operation(records: StepRecords, name: string): Workflows['operation'] {
    return DBOS.registerWorkflow(
      async (key: string, _place: number) => host?.operation(DBOS.workflowID ?? '', key, records) ?? never(),
      { name, maxRecoveryAttempts },
    );
  }

  const [today, earlier] = operationWorkflows;
  operation('dbos', earlier);
  return {
    dbos,
    operation: operation('own', today),
    tick: DBOS.registerWorkflow(async (schedule: string, at: string) => host?.tick(schedule, at) ?? never(), {
      name: 'tick',
      maxRecoveryAttempts,
    }),
  };
}
