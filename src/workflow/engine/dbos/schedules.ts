// Schedules: each time is a small durable run, named after the schedule and the time, so that all processes together fire
// it once, and it is not lost if the process is killed.
import { systemClock } from '../../../host/system-clock.ts';
import type { Engine } from '../../../ports/workflow/engine.ts';
import { runBody } from '../run-body.ts';
import { parseCron, tick } from '../ticker.ts';
import type { EngineLog, Workflows } from './workflows.ts';

export interface DbosSchedulesOptions {
  /** Throws if this process must not act. */
  started(): Promise<Workflows>;
  /** Never settles if the engine could not be started: a run in progress must not fail for it. */
  opened(): Promise<Workflows>;
  /** Runs work that calls DBOS outside of any run. */
  ask<T>(work: () => Promise<T>): Promise<T>;
  readonly signal: AbortSignal;
  readonly log: EngineLog;
}

export interface DbosSchedules extends Pick<Engine, 'schedule' | 'unschedule'> {
  /** Runs the durable run of one time. */
  tick(name: string, at: string): Promise<void>;
}

interface Schedule {
  readonly ending: AbortController;
  fire(at: Date): Promise<void>;
}

/** After a restart, a time in progress waits this long for its schedule to be created again. */
const patienceMs = 60_000;
const pollMs = 500;

export function createDbosSchedules(options: DbosSchedulesOptions): DbosSchedules {
  const { started, opened, ask, signal, log } = options;
  const schedules = new Map<string, Schedule>();

  async function find(name: string): Promise<Schedule | undefined> {
    for (let waited = 0; waited < patienceMs; waited += pollMs) {
      const schedule = schedules.get(name);
      if (schedule !== undefined) return schedule;
      await systemClock.sleep(pollMs, signal);
    }
    return undefined;
  }

  return {
    async schedule(spec, fire) {
      const cron = parseCron(spec);
      const workflows = await started();
      schedules.get(spec.name)?.ending.abort();
      const ending = new AbortController();
      schedules.set(spec.name, { ending, fire });
      const active = AbortSignal.any([signal, ending.signal]);
      void tick(cron, systemClock, active, async (at) => {
        const workflowID = `schedule ${spec.name} ${at.toISOString()}`;
        const start = workflows.dbos.DBOS.startWorkflow(workflows.tick, { workflowID });
        await ask(() => start(spec.name, at.toISOString())).catch((error) => {
          log('error', `Schedule ${spec.name} missed ${at.toISOString()}: ${String(error)}`);
        });
      });
    },
    async unschedule(name) {
      schedules.get(name)?.ending.abort();
      schedules.delete(name);
    },
    async tick(name, at) {
      const { dbos } = await opened();
      async function fireOnce(): Promise<null> {
        const schedule = await find(name);
        if (schedule === undefined) log('warn', `Schedule ${name} no longer exists. ${at} was not fired.`);
        await schedule?.fire(new Date(at));
        return null;
      }
      const onThrow = (error: unknown) =>
        log('warn', `Schedule ${name} retries ${at} after: ${String(error)}`);
      await dbos.DBOS.runStep(() => runBody(fireOnce, { clock: systemClock, signal, onThrow }), {
        name: 'fire',
      });
    },
  };
}
