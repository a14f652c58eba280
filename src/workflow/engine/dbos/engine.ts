// Durable runs on DBOS, in the schema `dbos` of Imago's own database. Only the holder of the lease starts it, and all
// holders share one executor id: a new holder resumes what the previous one left unfinished.
import { AsyncResource } from 'node:async_hooks';
import type { Pool } from 'pg';
import { within } from '../../../async/deadline.ts';
import { createKeyGate } from '../../../async/key-queue.ts';
import { createSlots } from '../../../async/slots.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { systemClock } from '../../../host/system-clock.ts';
import type { CallRecords, Engine, Interpreter } from '../../../ports/workflow/engine.ts';
import { never, unlessStopped } from '../run-body.ts';
import { createEnginePool, engineUrl } from './pool.ts';
import { createDbosRun, wrapMessage } from './run.ts';
import { createDbosSchedules } from './schedules.ts';
import { pruneRuns, unfinishedRuns } from './stored-runs.ts';
import {
  type DbosModule,
  type EngineLog,
  loadWorkflows,
  type StepRecords,
  takeHost,
  type Workflows,
} from './workflows.ts';

export interface DbosEngineOptions {
  readonly databaseUrl: string;
  /** Where the results of steps are recorded. */
  readonly calls: CallRecords;
  /** Aborted when this process loses its lease. */
  readonly signal: AbortSignal;
  /** How many step bodies can run concurrently; waiting runs do not count. Defaults to 64. */
  readonly maxRunningSteps?: number;
  /** How long `stop` waits for step bodies after it has aborted them. Defaults to 10 s. */
  readonly patienceMs?: number;
  /** How long DBOS can take to hand over an unfinished run before it is requested again. Defaults to 20 s. */
  readonly handOverMs?: number;
  readonly log?: EngineLog;
}

interface Started {
  readonly workflows: Workflows;
  readonly interpreter: Interpreter;
}

const settings = {
  name: 'imago',
  systemDatabaseSchemaName: 'dbos',
  executorID: 'imago',
  // The version never changes: steps are found by name, so new code finishes what old code started.
  applicationVersion: '1',
  enableOTLP: false,
  // Streams, events, and schedules of DBOS are not used.
  notificationCoalesceMs: 3_600_000,
  schedulerPollingIntervalMs: 3_600_000,
} as const;

const poolSize = 8;
const defaultPatienceMs = 10_000;
const shutdownPatienceMs = 15_000;
/** DBOS hands over unfinished runs within two seconds. */
const defaultHandOverMs = 20_000;

export function createDbosEngine(options: DbosEngineOptions): Engine {
  const log = options.log ?? (() => undefined);
  const gate = createKeyGate();
  const slots = createSlots(options.maxRunningSteps ?? 64);
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopping.signal, options.signal]);
  // DBOS reads the asynchronous context: calls to the engine from inside a step are not part of that step.
  const outside = new AsyncResource('ImagoEngine');
  const bodies = new Set<Promise<void>>();
  /** Unfinished runs, and when DBOS was last asked to hand them over, unless it has. */
  const runs = new Map<string, { readonly owedSince: number | undefined }>();
  const opened = Promise.withResolvers<Started>();
  opened.promise.catch(() => undefined);
  let begun = false;
  let pool: Pool | undefined;
  let nextPlace = 1;
  let releaseHost: (() => void) | undefined;
  let stopPruning = (): void => undefined;

  async function started(): Promise<Started> {
    if (!begun) throw new ImagoError('internal', 'The engine has not been started.');
    if (signal.aborted) throw new ImagoError('owner-stale', 'This daemon is no longer the active one.');
    return opened.promise;
  }

  function ask<T>(work: () => Promise<T>): Promise<T> {
    return outside.runInAsyncScope(work);
  }

  async function operation(id: string, key: string, records: StepRecords): Promise<void> {
    const { workflows, interpreter } = await opened.promise.catch(never);
    runs.set(id, { owedSince: undefined });
    await unlessStopped(gate.enter(key, id), signal);
    const run = createDbosRun({
      ...{ dbos: workflows.dbos, id, signal, clock: systemClock, slots, track },
      calls: records === 'own' ? options.calls : undefined,
      onThrow: (error) => log('warn', `Run ${id} continues after: ${describe(error)}`),
    });
    try {
      await interpreter(run);
    } catch (error) {
      if (signal.aborted) return never();
      log('error', `Run ${id} ended because of a bug: ${describe(error)}`);
    }
    gate.leave(key, id);
    runs.delete(id);
  }

  function track(): () => void {
    const settled = Promise.withResolvers<void>();
    bodies.add(settled.promise);
    return () => {
      bodies.delete(settled.promise);
      settled.resolve();
    };
  }

  const schedules = createDbosSchedules({
    ...{ ask, signal, log },
    started: async () => (await started()).workflows,
    opened: async () => (await opened.promise.catch(never)).workflows,
  });

  async function launch(interpreter: Interpreter): Promise<Started> {
    const workflows = await loadWorkflows();
    const { DBOS } = workflows.dbos;
    const systemDatabaseUrl = engineUrl(options.databaseUrl);
    pool = createEnginePool(systemDatabaseUrl, poolSize, log);
    DBOS.setConfig({
      ...settings,
      systemDatabaseUrl,
      systemDatabasePool: pool,
      logger: dbosLogger(log),
    });
    await DBOS.launch();
    await endTelemetry(workflows.dbos);
    const unfinished = await unfinishedRuns(workflows.dbos);
    for (const { id, key, place } of unfinished) {
      gate.reserve(key, id);
      runs.set(id, { owedSince: performance.now() });
      nextPlace = Math.max(nextPlace, place + 1);
    }
    stopPruning = pruneRuns(workflows.dbos, options.calls, log);
    return { workflows, interpreter };
  }

  /** DBOS can lose a run between claiming and starting it, if the database stops at that moment. */
  async function askAgain({ dbos }: Workflows, id: string): Promise<void> {
    const { owedSince } = runs.get(id) ?? {};
    if (owedSince === undefined || performance.now() - owedSince < (options.handOverMs ?? defaultHandOverMs))
      return;
    log('warn', `Run ${id} was not handed over. Requesting it again.`);
    runs.set(id, { owedSince: performance.now() });
    await ask(() => dbos.DBOS.resumeWorkflow(id));
  }

  async function shutdown(): Promise<void> {
    const release = releaseHost;
    releaseHost = undefined;
    if (release === undefined) return;
    const { dbos } = await loadWorkflows();
    const done = ask(() => dbos.DBOS.shutdown()).catch((error) => log('warn', describe(error)));
    await within(done, shutdownPatienceMs);
    release();
    await within(pool?.end() ?? Promise.resolve(), shutdownPatienceMs);
  }

  return {
    async start(interpreter) {
      releaseHost = takeHost({ operation, tick: schedules.tick });
      begun = true;
      try {
        opened.resolve(await ask(() => launch(interpreter)));
      } catch (error) {
        opened.reject(error);
        await shutdown();
        throw error;
      }
    },
    async enqueue(id, { key }) {
      const { workflows } = await started();
      if (runs.has(id)) return askAgain(workflows, id);
      const start = workflows.dbos.DBOS.startWorkflow(workflows.operation, { workflowID: id });
      await ask(() => start(key, nextPlace++));
    },
    async letPass(id) {
      await started();
      gate.letPass(id);
    },
    async send(id, topic, message) {
      const { dbos } = (await started()).workflows;
      try {
        await ask(() => dbos.DBOS.send(id, wrapMessage(message), topic));
      } catch (error) {
        if (!(error instanceof dbos.Error.DBOSNonExistentWorkflowError)) throw error;
        throw new ImagoError('operation-not-found', `There is no run ${id}.`, { cause: error });
      }
    },
    schedule: schedules.schedule,
    unschedule: schedules.unschedule,
    async stop() {
      stopping.abort(new Error('The engine was stopped.'));
      stopPruning();
      if (!begun) return;
      await opened.promise.catch(() => undefined);
      await within(Promise.all(bodies), options.patienceMs ?? defaultPatienceMs);
      await shutdown();
    },
  };
}

/** Ends the telemetry of DBOS, which is unused and wakes ten times a second. Its logger works without it. */
async function endTelemetry({ DBOS }: DbosModule): Promise<void> {
  const { logger } = DBOS;
  if ('destroy' in logger && typeof logger.destroy === 'function') await logger.destroy();
}

/** Expected at every start and stop: requesting a run twice, and stopping during runs. */
const expectedWarning = /already exists in queue|^Shutting down while/;

function dbosLogger(log: EngineLog): NonNullable<Parameters<DbosModule['DBOS']['setConfig']>[0]['logger']> {
  return {
    debug: () => undefined,
    info: () => undefined,
    warn(entry) {
      if (!expectedWarning.test(String(entry))) log('warn', `DBOS: ${String(entry)}`);
    },
    error: (entry) => log('error', `DBOS: ${String(entry)}`),
  };
}

function describe(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
