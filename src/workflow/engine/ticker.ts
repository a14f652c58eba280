// Cron with a clock that can jump: it checks at least every half minute, never fires a time before the last fired one,
// and fires only the last of the times that passed while the host slept.
import { Cron } from 'croner';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { Clock } from '../../ports/clock.ts';
import type { ScheduleSpec } from '../../ports/workflow/engine.ts';

const maxNapMs = 30_000;

/** Throws `input-invalid` for an invalid cron expression or time zone. */
export function parseCron(spec: ScheduleSpec): Cron {
  try {
    const cron = new Cron(spec.cron, { timezone: spec.timeZone, paused: true, mode: '5-or-6-parts' });
    cron.nextRun();
    return cron;
  } catch (error) {
    throw new ImagoError('input-invalid', `Schedule ${spec.name} is invalid: ${String(error)}`, {
      cause: error,
      hint: 'Write five or six cron fields, and a time zone such as Europe/Paris.',
    });
  }
}

/** Calls `fire` at each time until `signal` is aborted. */
export async function tick(
  cron: Cron,
  clock: Clock,
  signal: AbortSignal,
  fire: (at: Date) => Promise<void>,
): Promise<void> {
  let last = clock.now();
  while (!signal.aborted) {
    const next = cron.nextRun(new Date(last))?.getTime();
    if (next === undefined) return;
    const left = next - clock.now();
    if (left > 0) {
      await clock.sleep(Math.min(left, maxNapMs), signal).catch(() => undefined);
      continue;
    }
    last = lastDue(cron, next, clock.now());
    await fire(new Date(last));
  }
}

function lastDue(cron: Cron, first: number, now: number): number {
  const nextSecond = Math.floor(now / 1000 + 1) * 1000;
  const [previous] = cron.previousRuns(1, new Date(nextSecond));
  return Math.max(first, previous?.getTime() ?? first);
}
