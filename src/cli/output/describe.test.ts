import { expect, test } from 'vitest';
import { describeSupport } from './describe.ts';

const calendar = { by: 'kubernetes 1.35', source: 'calendar', endsOn: '2027-02-28' } as const;

test.each([
  [104, 'supported', 'ends on 2027-02-28, 104 days left (by the calendar of kubernetes 1.35)'],
  [1, 'ending', 'ends on 2027-02-28, 1 day left (by the calendar of kubernetes 1.35)'],
  [0, 'ending', 'ends on 2027-02-28, today (by the calendar of kubernetes 1.35)'],
  [-1, 'ended', 'ended on 2027-02-28, 1 day ago (by the calendar of kubernetes 1.35)'],
] as const)('%i days from its end', (daysLeft, phase, line) => {
  expect(describeSupport({ ...calendar, phase, daysLeft })).toBe(line);
});

test('a date that someone set says who and why', () => {
  const set = { by: 'image node:1.0.0', source: 'set', setBy: 'ann', note: 'from the recipe' } as const;
  expect(describeSupport({ ...set, phase: 'ended', endsOn: '2026-11-01', daysLeft: -15 })).toBe(
    'ended on 2026-11-01, 15 days ago (set for image node:1.0.0 by ann: from the recipe)',
  );
});
