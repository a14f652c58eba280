// Runs schedules: passes the stored ones to the engine at every start, and starts an operation for each time.
import type { ScheduleStore } from '../database/schedules.ts';
import { localOwner } from '../domain/access/roles.ts';
import { ImagoError } from '../domain/error/imago-error.ts';
import { roleOfKind } from '../domain/operation-kinds.ts';
import type { Tokens } from '../ports/database/access.ts';
import type { Events } from '../ports/database/events.ts';
import type { Schedule, ScheduleRecord, Schedules } from '../ports/database/schedules.ts';
import type { Engine } from '../ports/workflow/engine.ts';
import type { OperationDesk } from '../ports/workflow/operation.ts';
import { parseCron } from '../workflow/engine/ticker.ts';
import { allItems } from './http/endpoint/page-query.ts';
import { roleProblem } from './http/guard/caller.ts';

export interface SchedulesParts {
  readonly engine: Pick<Engine, 'schedule' | 'unschedule'>;
  readonly operations: Pick<OperationDesk, 'submit'>;
  readonly store: ScheduleStore;
  readonly tokens: Pick<Tokens, 'roleOf'>;
  readonly events: Pick<Events, 'add'>;
}

/** Starts all schedules that are stored, except those that stopped. */
export async function createSchedules(parts: SchedulesParts): Promise<Schedules> {
  const { engine, operations, store } = parts;

  /** Stops the schedule if its owner is no longer allowed to start the operation. */
  async function stopWithoutRights(schedule: Schedule): Promise<boolean> {
    const why = await missingRight(parts.tokens, schedule);
    if (why === undefined) return false;
    const { name } = schedule;
    await store.stop(name, why);
    await engine.unschedule(name);
    await parts.events.add({ type: 'schedule.stopped', subject: `schedule/${name}`, data: { why } });
    return true;
  }

  async function arm(schedule: Schedule): Promise<void> {
    await engine.schedule(schedule, async (at) => {
      if (await stopWithoutRights(schedule)) return;
      const { name, kind, subject, input, by, osUser } = schedule;
      // The id contains the time, so that a time that fires again after a crash starts nothing new.
      const id = `schedule-${name}-${at.getTime().toString(36)}`;
      const operation = await operations.submit({ id, kind, subject, input, by, osUser });
      await store.recordFired(name, at.toISOString(), operation.id);
    });
  }

  for await (const schedule of active(store)) await arm(schedule);

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
      if (parseCron(schedule).nextRun() === null) {
        throw new ImagoError('input-invalid', `${schedule.cron} never occurs.`, {
          hint: 'Choose a day that exists, such as `0 3 28 2 *`.',
        });
      }
      const found = await store.get(schedule.name);
      if (found === undefined || isSame(found, schedule)) return;
      throw new ImagoError('schedule-exists', `A different schedule ${schedule.name} already exists.`);
    },
    async create(schedule) {
      parseCron(schedule);
      const made = await store.create(schedule);
      await arm(made);
      return withNext(made);
    },
    async review(owner) {
      for await (const schedule of active(store))
        if (schedule.by === owner) await stopWithoutRights(schedule);
    },
    async delete(name) {
      const gone = await store.delete(name);
      await engine.unschedule(name);
      return gone;
    },
  };
}

async function* active(store: ScheduleStore): AsyncGenerator<ScheduleRecord> {
  for await (const schedule of allItems((query) => store.list(query))) {
    if (schedule.stoppedAt === undefined) yield schedule;
  }
}

/** Returns the right that the owner's tokens do not have. `local` is the daemon's user and has all rights. */
async function missingRight(
  tokens: Pick<Tokens, 'roleOf'>,
  { by, kind }: Schedule,
): Promise<string | undefined> {
  if (by === localOwner) return undefined;
  const role = await tokens.roleOf(by);
  if (role === undefined) return `${by} has no valid token.`;
  return roleProblem({ who: by, role }, roleOfKind(kind), kind)?.message;
}

function withNext(schedule: ScheduleRecord): ScheduleRecord {
  if (schedule.stoppedAt !== undefined) return schedule;
  const next = parseCron(schedule).nextRun();
  return next === null ? schedule : { ...schedule, nextAt: next.toISOString() };
}

function isSame(a: Schedule, b: Schedule): boolean {
  const content = ({ name, cron, timeZone, kind, subject, input, by, osUser }: Schedule) =>
    JSON.stringify([name, cron, timeZone, kind, subject, input, by, osUser]);
  return content(a) === content(b);
}
