// What dates bring about: warnings ahead of time, `deprecated` when support has ended, and `withdrawn` only when by
// then nothing needs the version, not even a rollback. A date that is set again or removed gives
// `available` back. Nothing is deleted because of a date. A version that was made after the calendar's day was made
// knowingly: it is only reported.

import { kubernetesCalendar } from '../../domain/support/calendar.ts';
import {
  dueWarning,
  mergeDates,
  type SupportDate,
  supportOf,
  warnDaysAhead,
} from '../../domain/support/support.ts';
import type { VersionRecord } from '../../ports/database/catalog.ts';
import type { CountedDate, Notice } from '../../ports/database/lifecycle.ts';
import type { OperationDeps } from '../common/deps.ts';

const by = 'imago';

/** The number of versions to retire per round: a large catalog must not delay the daemon. */
const retiredAtOnce = 50;

/** The operations that it started. */
export async function supportRound(deps: OperationDeps): Promise<readonly string[]> {
  const { support } = deps.lifecycle;
  const now = new Date(deps.clock.now());
  const set = await support.list();
  const dates = mergeDates(kubernetesCalendar, set);
  await tell(deps, dates, now);
  const today = now.toISOString().slice(0, 10);
  const chosen: ReadonlySet<SupportDate> = new Set(set);
  const past = dates
    .filter(({ endsOn }) => endsOn < today)
    .map((date): CountedDate => ({ ...date, chosen: chosen.has(date) }));
  for (const { image, version } of await support.regained(past, retiredAtOnce)) {
    await deps.catalogue.setVersionState(image, version, 'available', { by });
  }
  const started: string[] = [];
  for (const version of await support.ended(past, retiredAtOnce)) {
    const made = version.createdAt.slice(0, 10);
    const counting = past.filter((date) => date.chosen || date.endsOn >= made);
    const end = supportOf(version, counting, now);
    if (end?.phase === 'ended') started.push(...(await retire(deps, version, end.endsOn, end.by)));
  }
  return started;
}

/** Reports the end of support of a version once to each of its users. */
async function tell(deps: OperationDeps, dates: readonly SupportDate[], now: Date): Promise<void> {
  const horizon = now.getTime() + Math.max(...warnDaysAhead) * 86_400_000;
  const near = dates.filter(({ endsOn }) => Date.parse(endsOn) <= horizon);
  const { support } = deps.lifecycle;
  const due = (await support.used(near)).flatMap((version): DueNotice[] => {
    const end = supportOf(version, near, now);
    if (end === undefined || end.phase === 'supported') return [];
    const mark = end.phase === 'ended' ? 'ended' : dueWarning(end.daysLeft);
    return [
      {
        kind: end.phase === 'ended' ? 'support.ended' : 'support.ending',
        subject: `image/${version.image}`,
        mark: `${version.version} ${end.endsOn} ${mark}`,
        data: { version: version.version, endsOn: end.endsOn, daysLeft: end.daysLeft, by: end.by },
      },
    ];
  });
  for (const { data, ...notice } of await support.untold(due)) await support.tellOnce(notice, data);
}

interface DueNotice extends Notice {
  readonly data: Readonly<Record<string, string | number>>;
}

async function retire(
  deps: OperationDeps,
  { image, version, state }: VersionRecord,
  endsOn: string,
  source: string,
): Promise<readonly string[]> {
  const reason = `Out of support since ${endsOn} (${source}).`;
  if (state === 'available') {
    await deps.catalogue.setVersionState(image, version, 'deprecated', { by, reason });
    return [];
  }
  const id = `support-${image}-${version}-${endsOn}`;
  if ((await deps.journal.get(id)) !== undefined) return [];
  const input = { image, version, reason };
  await deps.desk().submit({ id, kind: 'withdraw', subject: `image/${image}`, by, input });
  return [id];
}
