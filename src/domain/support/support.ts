// Until when a version is supported: by the calendar of the Kubernetes that is in it, and by dates that people or
// recipes set for an image or a version. A date warns and deprecates; it never deletes anything.
import { ImagoError } from '../error/imago-error.ts';
import type { VersionRecord } from '../image/version.ts';
import { quote } from '../value/quote.ts';
import { parseTime } from '../value/time.ts';
import type { SupportDate } from './calendar.ts';
import type { SetSupportDate, SourcedSupport, Support } from './record.ts';

export type { SupportDate } from './calendar.ts';

/** The product under which dates of images (`node`) and versions (`node:1.34.2`) stand. */
export const imageProduct = 'image';

const dayMs = 86_400_000;

/** So many days ahead people are warned, each time once. */
export const warnDaysAhead: readonly number[] = [90, 30, 7];

type Dated = Pick<VersionRecord, 'image' | 'version' | 'kubernetes'>;

/** The dates that concern a version. */
function datesOf(version: Dated, dates: readonly SupportDate[]): readonly SupportDate[] {
  return dates.filter(({ product, line }) => {
    if (product === imageProduct)
      return line === version.image || line === `${version.image}:${version.version}`;
    if (product !== 'kubernetes' || version.kubernetes === undefined) return false;
    return /^v?([0-9]+[.][0-9]+)/.exec(version.kubernetes)?.[1] === line;
  });
}

function earliestOf(dates: readonly SupportDate[]): SupportDate | undefined {
  return dates.toSorted((a, b) => a.endsOn.localeCompare(b.endsOn))[0];
}

/** The earliest date that concerns it decides; `undefined` when none does. */
export function supportOf(version: Dated, dates: readonly SupportDate[], now: Date): Support | undefined {
  const first = earliestOf(datesOf(version, dates));
  if (first === undefined) return undefined;
  const daysLeft = daysUntil(first.endsOn, now);
  const phase = daysLeft < 0 ? 'ended' : daysLeft <= Math.max(...warnDaysAhead) ? 'ending' : 'supported';
  return { phase, endsOn: first.endsOn, daysLeft, by: `${first.product} ${first.line}` };
}

export function sourcedSupport(
  version: Dated,
  {
    calendar,
    set,
  }: { readonly calendar: readonly SupportDate[]; readonly set: readonly Omit<SetSupportDate, 'at'>[] },
  now: Date,
): SourcedSupport | undefined {
  const dates = mergeDates(calendar, set);
  const support = supportOf(version, dates, now);
  if (support === undefined) return undefined;
  const first = earliestOf(datesOf(version, dates));
  const chosen = set.find((date) => date === first);
  if (chosen === undefined) return { ...support, source: 'calendar' };
  const note = chosen.note === '' ? {} : { note: chosen.note };
  return { ...support, source: 'set', ...note, setBy: chosen.by };
}

/** The narrowest warning that is due: 7 when 5 days are left, 90 when 60 are; `undefined` when it is too early. */
export function dueWarning(daysLeft: number): number | undefined {
  return warnDaysAhead.filter((days) => daysLeft <= days).toSorted((a, b) => a - b)[0];
}

/** Days that people set stand in place of those of the calendar. */
export function mergeDates(
  calendar: readonly SupportDate[],
  set: readonly SupportDate[],
): readonly SupportDate[] {
  const byLine = new Map(calendar.map((date) => [`${date.product} ${date.line}`, date]));
  for (const date of set) byLine.set(`${date.product} ${date.line}`, date);
  return [...byLine.values()];
}

/** Throws `input-invalid` for what is not a day, a product or a line. */
export function checkSupportDate({ product, line, endsOn }: SupportDate): void {
  if (!/^[0-9]{4}-[0-9]{2}-[0-9]{2}$/.test(endsOn)) {
    throw new ImagoError('input-invalid', `${quote(endsOn)} is not a day.`, {
      hint: 'Write it like 2027-02-28.',
    });
  }
  parseTime(endsOn);
  if (product !== 'kubernetes' && product !== imageProduct) {
    throw new ImagoError('input-invalid', `${quote(product)} is not the name of a product.`, {
      hint: 'Write `kubernetes`, or `image` for an image or a version of your own.',
    });
  }
  const lines = product === 'kubernetes' ? /^[0-9]{1,3}[.][0-9]{1,3}$/ : /^[a-z0-9][a-z0-9.:-]{0,127}$/;
  if (!lines.test(line)) {
    throw new ImagoError('input-invalid', `${quote(line)} is not a line of ${product}.`, {
      hint: product === 'kubernetes' ? 'Write it like 1.34.' : 'Write it like node or node:1.34.2.',
    });
  }
}

function daysUntil(day: string, now: Date): number {
  const today = Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate());
  return Math.round((Date.parse(`${day}T00:00:00Z`) - today) / dayMs);
}
