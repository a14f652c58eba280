// DBOS exists once per process: its workflows are registered once, and act for the current engine of the process. It is
// loaded on demand.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { never } from '../run-body.ts';

export type DbosModule = typeof import('@dbos-inc/dbos-sdk');

export type EngineLog = (level: 'info' | 'warn' | 'error', line: string) => void;

/** Where a run records its steps: in Imago's own table, or in that of DBOS, as runs of earlier versions do. */
export type StepRecords = 'own' | 'dbos';

/** What the workflows do, given by the current engine. */
export interface WorkflowHost {
  operation(id: string, key: string, records: StepRecords): Promise<void>;
  tick(schedule: string, at: string): Promise<void>;
}

export interface Workflows {
  readonly dbos: DbosModule;
  operation(key: string, place: number): Promise<void>;
  tick(schedule: string, at: string): Promise<void>;
}

/** The names in the tables of DBOS: current operations, and those of versions that recorded their steps in DBOS. */
export const operationWorkflows = ['operation-2', 'operation'] as const;

/** DBOS abandons a workflow after 100 recoveries; an operation is never abandoned. */
const maxRecoveryAttempts = 1_000_000_000;

let host: WorkflowHost | undefined;
let loading: Promise<Workflows> | undefined;

export function loadWorkflows(): Promise<Workflows> {
  loading ??= register();
  return loading;
}

/** Makes the engine the current one of the process, until the returned function is called. */
export function takeHost(given: WorkflowHost): () => void {
  if (host !== undefined) {
    throw new ImagoError('internal', 'This process already runs a durable engine, and DBOS allows only one.');
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
