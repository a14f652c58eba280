// What dates bring about: warnings ahead of time, `deprecated` when support has ended, and `withdrawn` only when by
// then nothing uses the version any more. Nothing is deleted because of a date. A version that was made after the
// calendar's day was made knowingly: it is only told.
import { dueWarning, mergeDates, type SupportDate, supportOf } from '../domain/support.ts';
import { kubernetesCalendar } from '../domain/support-calendar.ts';
import type { DatedVersion } from '../ports/lifecycle.ts';
import type { OperationDeps } from './deps.ts';

const by = 'imago';

/** The operations that it started. */
export async function supportRound(deps: OperationDeps): Promise<readonly string[]> {
  const { support } = deps.lifecycle;
  const now = new Date(deps.clock.now());
  const set = await support.list();
  const chosen: ReadonlySet<SupportDate> = new Set(set);
  const dates = mergeDates(kubernetesCalendar, set);
  const started: string[] = [];
  for (const version of await support.concerned(dates)) {
    const told = supportOf(version, dates, now);
    if (told === undefined || told.phase === 'supported') continue;
    const mark = told.phase === 'ended' ? 'ended' : dueWarning(told.daysLeft);
    if (version.used && mark !== undefined) {
      await support.tellOnce(
        {
          kind: told.phase === 'ended' ? 'support.ended' : 'support.ending',
          subject: `image/${version.image}`,
          mark: `${version.version} ${told.endsOn} ${mark}`,
        },
        { version: version.version, endsOn: told.endsOn, daysLeft: told.daysLeft, by: told.by },
      );
    }
    const made = version.createdAt.slice(0, 10);
    const counting = dates.filter((date) => chosen.has(date) || date.endsOn >= made);
    const end = supportOf(version, counting, now);
    if (end?.phase === 'ended') started.push(...(await retire(deps, version, end.endsOn, end.by)));
  }
  return started;
}

async function retire(
  deps: OperationDeps,
  { image, version, state, used }: DatedVersion,
  endsOn: string,
  source: string,
): Promise<readonly string[]> {
  const reason = `Out of support since ${endsOn} (${source}).`;
  if (state === 'available') {
    await deps.catalogue.setVersionState(image, version, 'deprecated', { by, reason });
    return [];
  }
  if (used) return [];
  const id = `support-${image}-${version}-${endsOn}`;
  if ((await deps.journal.get(id)) !== undefined) return [];
  const input = { image, version, reason };
  await deps.desk().submit({ id, kind: 'withdraw', subject: `image/${image}`, by, input });
  return [id];
}
