// Schedules that act: what the store keeps, given to the engine at every start, and an operation for each time.

import type { ScheduleStore } from '../database/schedules.ts';
import { ImagoError } from '../domain/error/imago-error.ts';
import type { Schedule, ScheduleRecord, Schedules } from '../ports/database/schedules.ts';
import type { Engine } from '../ports/workflow/engine.ts';
import type { OperationDesk } from '../ports/workflow/operation.ts';
import { parseCron } from '../workflow/engine/ticker.ts';

export interface SchedulesParts {
  readonly engine: Pick<Engine, 'schedule' | 'unschedule'>;
  readonly operations: Pick<OperationDesk, 'submit'>;
  readonly store: ScheduleStore;
}

const PAGE = 100;

/** Takes up all schedules that are kept. */
export async function createSchedules({ engine, operations, store }: SchedulesParts): Promise<Schedules> {
  async function arm(schedule: Schedule): Promise<void> {
    await engine.schedule(schedule, async (at) => {
      const { name, kind, subject, input, by } = schedule;
      // The id is that of the time: a time that is fired again after a crash starts nothing new.
      const id = `schedule-${name}-${at.getTime().toString(36)}`;
      const operation = await operations.submit({ id, kind, subject, input, by });
      await store.recordFired(name, at.toISOString(), operation.id);
    });
  }

  let cursor: string | undefined;
  do {
    const page = await store.list({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    for (const schedule of page.items) await arm(schedule);
    cursor = page.next;
  } while (cursor !== undefined);

  return {
    async list(query) {
      const page = await store.list(query);
      return { ...page, items: page.items.map(withNext) };
    },
    async get(name) {
      const found = await store.get(name);
      return found && withNext(found);
    },
    async check(schedule) {
      parseCron(schedule);
      const found = await store.get(schedule.name);
      if (found === undefined || isSame(found, schedule)) return;
      throw new ImagoError(
        'schedule-exists',
        `Schedule ${schedule.name} exists already, with other content.`,
      );
    },
    async create(schedule) {
      parseCron(schedule);
      const made = await store.create(schedule);
      await arm(made);
      return withNext(made);
    },
    async delete(name) {
      const gone = await store.delete(name);
      await engine.unschedule(name);
      return gone;
    },
  };
}

function withNext(schedule: ScheduleRecord): ScheduleRecord {
  const next = parseCron(schedule).nextRun();
  return next === null ? schedule : { ...schedule, nextAt: next.toISOString() };
}

function isSame(a: Schedule, b: Schedule): boolean {
  const content = ({ name, cron, timeZone, kind, subject, input, by }: Schedule) =>
    JSON.stringify([name, cron, timeZone, kind, subject, input, by]);
  return content(a) === content(b);
}
