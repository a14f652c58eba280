import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type FreezeWindow,
  frozenBy,
  isTimeZone,
  opensAt,
  type WeeklyFreeze,
  weekdays,
} from './freeze-windows.ts';

const weekend: WeeklyFreeze = {
  ...{ kind: 'weekly', days: ['fri'], from: '15:00', to: '08:00', timeZone: 'Europe/Paris', why: 'night' },
};
const holidays: FreezeWindow = {
  ...{
    kind: 'dated',
    from: '2026-12-20',
    to: '2027-01-02T12:00',
    timeZone: 'America/New_York',
    why: 'holidays',
  },
};

function frozen(window: FreezeWindow, time: string): boolean {
  return frozenBy([window], Date.parse(time)) !== undefined;
}

describe('every week, on the clock of the time zone', () => {
  test.each([
    ['2026-11-13T13:59:00Z', false],
    ['2026-11-13T14:00:00Z', true],
    ['2026-11-14T06:59:00Z', true],
    ['2026-11-14T07:00:00Z', false],
    // In summer Paris is two hours ahead.
    ['2026-07-17T13:00:00Z', true],
    ['2026-07-17T12:59:00Z', false],
  ])('%s', (time, closed) => {
    expect(frozen(weekend, time)).toBe(closed);
  });
});

test.each([
  ['2026-12-20T04:59:00Z', false],
  ['2026-12-20T05:00:00Z', true],
  ['2027-01-02T16:59:00Z', true],
  ['2027-01-02T17:00:00Z', false],
])('once, between two moments: %s', (time, closed) => {
  expect(frozen(holidays, time)).toBe(closed);
});

test('the first open minute is told, also where the clock is set in between', () => {
  const night: WeeklyFreeze = { ...weekend, days: ['sat'], from: '20:00', to: '04:00' };
  // In the night of 28 March 2027 Paris goes from 02:00 to 03:00.
  const opens = opensAt([night], Date.parse('2027-03-27T20:30:00Z'));
  expect(new Date(opens ?? 0).toISOString()).toBe('2027-03-28T02:00:00.000Z');
});

test('what is always frozen never opens', () => {
  const always: WeeklyFreeze = { ...weekend, days: [...weekdays], from: '00:00', to: '00:00' };
  expect(opensAt([always], Date.parse('2026-11-13T14:00:00Z'))).toBeUndefined();
});

test('it is open when it says, and closed until then', () => {
  const start = Date.parse('2026-01-01T00:00:00Z');
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 500_000 }), (minutes) => {
      const time = start + minutes * 60_000;
      const opens = opensAt([weekend, holidays], time);
      if (opens === undefined) throw new Error('it always opens');
      expect(frozenBy([weekend, holidays], opens)).toBeUndefined();
      if (opens > time) expect(frozenBy([weekend, holidays], opens - 60_000)).toBeDefined();
    }),
    { numRuns: 50 },
  );
});

test('time zones are known by their names', () => {
  expect([isTimeZone('Europe/Paris'), isTimeZone('Mars/Base'), isTimeZone('')]).toEqual([true, false, false]);
});
