// Schedules.
import { ensureImagoError, ImagoError } from '../../../domain/error/imago-error.ts';
import { kindNames, roleOfKind } from '../../../domain/operation-kinds.ts';
import { localPaths } from '../../../domain/recipe/local-path.ts';
import { requireNamed } from '../../../domain/value/require-named.ts';
import { didYouMean } from '../../../domain/value/suggest.ts';
import type { Schedule, ScheduleRecord, Schedules } from '../../../ports/database/schedules.ts';
import type { Handlers } from '../endpoint/call.ts';
import type { DaemonContext } from '../endpoint/context.ts';
import { pageQuery } from '../endpoint/page-query.ts';
import { personOf, requireRole } from '../guard/caller.ts';
import { refuseHostFiles } from '../guard/remote-input.ts';

export const scheduleHandlers = {
  listSchedules: ({ context, query }) => context.schedules.list(pageQuery(query)),
  async createSchedule({ context, body, caller }) {
    const { name, cron, kind, subject, input } = body;
    requireRole(caller, roleOfKind(kind), `an operation of kind ${kind}`);
    const schedule: Schedule = {
      name,
      cron,
      timeZone: body.timeZone ?? 'UTC',
      kind,
      subject,
      input,
      ...personOf(caller),
    };
    if (!caller.local) await refuseLocalInputs(schedule);
    await context.schedules.check(schedule);
    await checkInput(context, schedule);
    return {
      subject: `schedule/${name}`,
      plan: async () => [`Start ${kind} of ${subject} at ${cron} (${schedule.timeZone}), for ${caller.who}.`],
      run: () => context.schedules.create(schedule),
    };
  },
  async deleteSchedule({ context, path, caller }) {
    const schedule = await requireSchedule(context.schedules, path.schedule);
    requireRole(caller, roleOfKind(schedule.kind), `a schedule of kind ${schedule.kind}`);
    return {
      subject: `schedule/${schedule.name}`,
      before: { ...schedule },
      plan: async () => [
        `End the schedule ${schedule.name}: no more ${schedule.kind} of ${schedule.subject}.`,
      ],
      async run() {
        await context.schedules.delete(schedule.name);
        return schedule;
      },
      record: () => null,
    };
  },
} satisfies Partial<Handlers>;

/** Refuses an input that can never run. One that cannot run today may well run when its time comes. */
async function checkInput({ operations }: DaemonContext, schedule: Schedule): Promise<void> {
  const { kind, subject, input, by, osUser } = schedule;
  try {
    await operations.plan({ kind, subject, input, by, osUser });
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    if (error.code === 'operation-unknown-kind') throw unknownKind(kind);
    if (error.kind === 'input' || error.kind === 'bug') throw thrown;
  }
}

/** Refuses inputs that put files of this host into an image: the caller is on another one. */
async function refuseLocalInputs({ kind, input }: Schedule): Promise<void> {
  refuseHostFiles(input);
  if (!/^(?:build|recipe|release)\b/.test(kind)) return;
  const { localRefused } = await import('../../../build/inputs/local-files.ts');
  const [local] = localPaths(input);
  if (local !== undefined) throw localRefused(local.path);
}

function unknownKind(kind: string): ImagoError {
  return new ImagoError('input-invalid', `There is no kind of operation ${JSON.stringify(kind)}.`, {
    hint: didYouMean(kind, kindNames) ?? `There are: ${kindNames.join(', ')}.`,
  });
}

async function requireSchedule(schedules: Schedules, name: string): Promise<ScheduleRecord> {
  return requireNamed('schedule', name, await schedules.get(name), async () => {
    return (await schedules.list({ limit: 1000 })).items.map((item) => item.name);
  });
}
