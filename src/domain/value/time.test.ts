import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseTime, stampAfter, toIso } from './time.ts';

describe('times that people write', () => {
  test.each([
    ['2026-03-03', '2026-03-03T00:00:00.000Z'],
    ['2026-03-03T10:00Z', '2026-03-03T10:00:00.000Z'],
    ['2026-03-03T10:00:05.25+01:00', '2026-03-03T09:00:05.250Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
  ])('%s', (text, time) => {
    expect(toIso(parseTime(text))).toBe(time);
  });

  test.each([
    '',
    'yesterday',
    '2026-3-3',
    '2026-02-29',
    '2026-13-01',
    '2026-04-31',
    '2026-04-00',
    '2026-01-01T24:00Z',
    '2026-01-01T10:60Z',
    '2026-01-01T10Z',
    '2026-01-01 10:00Z',
    '1700000000',
    '2026-01-01T10:00:00+99:00',
  ])('%j is none', (text) => {
    expect(() => parseTime(text)).toThrow(expect.objectContaining({ code: 'input-invalid', exitCode: 2 }));
  });

  test('a time without its zone is asked for it, not guessed', () => {
    expect(() => parseTime('2026-03-03T10:00')).toThrow(
      expect.objectContaining({ hint: expect.stringContaining('2026-03-03T10:00Z') }),
    );
  });
});

test('records never run backwards, whatever the clock does', () => {
  const clock = fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true });
  fc.assert(
    fc.property(fc.array(clock, { maxLength: 30 }), (clocks) => {
      let last: string | undefined;
      for (const now of clocks) {
        const stamp = stampAfter(now, last);
        if (last !== undefined) expect(Date.parse(stamp)).toBeGreaterThan(Date.parse(last));
        expect(Date.parse(stamp)).toBeGreaterThanOrEqual(now.getTime());
        last = stamp;
      }
    }),
  );
});
