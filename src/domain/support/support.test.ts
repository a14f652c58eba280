import { describe, expect, test } from 'vitest';
import { kubernetesCalendar } from './calendar.ts';
import { checkSupportDate, dueWarning, mergeDates, sourcedSupport, supportOf } from './support.ts';

const version = { image: 'node', version: '1.0.0', kubernetes: '1.35.2' };

describe('support of a version', () => {
  test('lasts through its last day', () => {
    const on = (day: string) => supportOf(version, kubernetesCalendar, new Date(`${day}T23:00:00Z`));
    expect(on('2026-11-29')).toMatchObject({ phase: 'supported', daysLeft: 91, by: 'kubernetes 1.35' });
    expect(on('2026-11-30')).toMatchObject({ phase: 'ending', daysLeft: 90 });
    expect(on('2027-02-28')).toMatchObject({ phase: 'ending', daysLeft: 0 });
    expect(on('2027-03-01')).toMatchObject({ phase: 'ended', daysLeft: -1 });
  });

  test('ends with the earliest of the dates that concern it, and 1.3 is not 1.35', () => {
    const dates = [
      ...kubernetesCalendar,
      { product: 'kubernetes', line: '1.3', endsOn: '2017-01-01' },
      { product: 'image', line: 'other', endsOn: '2017-01-01' },
      { product: 'image', line: 'node:1.0.0', endsOn: '2026-12-24' },
    ];
    expect(supportOf(version, dates, new Date('2026-01-01'))?.endsOn).toBe('2026-12-24');
    expect(supportOf({ image: 'x', version: '1.0.0' }, dates, new Date('2026-01-01'))).toBeUndefined();
  });

  test('a date that was set stands in place of the calendar’s', () => {
    const set = { product: 'kubernetes', line: '1.35', endsOn: '2030-01-01' };
    const dates = mergeDates(kubernetesCalendar, [set]);
    expect(supportOf(version, dates, new Date('2028-01-01'))).toMatchObject({ phase: 'supported' });
    expect(dates).toHaveLength(kubernetesCalendar.length);
  });

  test('says whether the calendar or a person gave its date, who and why', () => {
    const now = new Date('2026-11-16');
    const sourced = (...set: Parameters<typeof sourcedSupport>[1]['set']) =>
      sourcedSupport(version, { calendar: kubernetesCalendar, set }, now);
    const calendar = { phase: 'supported', endsOn: '2027-02-28', daysLeft: 104, by: 'kubernetes 1.35' };
    expect(sourced()).toEqual({ ...calendar, source: 'calendar' });
    const image = { product: 'image', line: 'node', by: 'ann', note: '' };
    expect(sourced({ ...image, endsOn: '2030-01-01' })).toEqual({ ...calendar, source: 'calendar' });
    expect(sourced({ ...image, endsOn: '2026-11-01', note: 'a bad kernel' })).toEqual({
      ...{ phase: 'ended', endsOn: '2026-11-01', daysLeft: -15, by: 'image node' },
      ...{ source: 'set', setBy: 'ann', note: 'a bad kernel' },
    });
    const instead = { product: 'kubernetes', line: '1.35', endsOn: '2027-02-28', by: 'bob', note: '' };
    expect(sourced(instead)).toEqual({ ...calendar, source: 'set', setBy: 'bob' });
    const other = { image: 'x', version: '1.0.0' };
    expect(sourcedSupport(other, { calendar: kubernetesCalendar, set: [] }, now)).toBeUndefined();
  });
});

test('of several warnings that are due the nearest is given', () => {
  expect([91, 90, 31, 30, 8, 7, 0].map(dueWarning)).toEqual([undefined, 90, 90, 30, 30, 7, 7]);
});

test('the calendar is in order, and holds days only', () => {
  for (const date of kubernetesCalendar) expect(() => checkSupportDate(date)).not.toThrow();
  const days = kubernetesCalendar.map(({ endsOn }) => endsOn);
  expect(days).toEqual(days.toSorted());
});

test.each([
  { product: 'kubernetes', line: '1.35', endsOn: '2027-02-30' },
  { product: 'kubernetes', line: '1.35', endsOn: 'soon' },
  { product: 'kubernetes', line: 'v1.35.2', endsOn: '2027-02-28' },
  { product: 'Kubernetes!', line: '1.35', endsOn: '2027-02-28' },
  { product: 'image', line: '', endsOn: '2027-02-28' },
])('$product $line $endsOn is refused', (date) => {
  expect(() => checkSupportDate(date)).toThrow();
});
