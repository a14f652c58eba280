import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ImagoError } from '../error/imago-error.ts';
import {
  buildsPerPatch,
  type NumberingFacts,
  type NumberingPolicy,
  needsKubernetes,
  nextNumber,
  numberBumps,
  numberingPolicies,
} from './numbering.ts';
import { compareVersions, parseNumber } from './version-number.ts';

const day = (text: string) => new Date(`${text}T12:00:00Z`);

function refused(policy: NumberingPolicy, facts: NumberingFacts): ImagoError {
  try {
    nextNumber(policy, facts);
  } catch (error) {
    if (error instanceof ImagoError) return error;
    throw error;
  }
  throw new Error('a number was given');
}

describe('semver', () => {
  const next = (used: string[], bump?: NumberingFacts['bump']) =>
    nextNumber('semver', { used, now: day('2026-11-15'), ...(bump === undefined ? {} : { bump }) });

  test('begins with 1.0.0', () => {
    expect(next([])).toBe('1.0.0');
  });

  test('raises the greatest number ever used, in whatever order they are given', () => {
    expect(next(['1.0.9', '1.0.10', '1.0.2'])).toBe('1.0.11');
    expect(next(['1.2.3'], 'minor')).toBe('1.3.0');
    expect(next(['1.2.3'], 'major')).toBe('2.0.0');
  });

  test('says so when a part is full, and what can still be raised', () => {
    const error = refused('semver', { used: ['1.0.2147483647'], now: day('2026-11-15') });
    expect(error).toMatchObject({ code: 'number-exhausted', exitCode: 4 });
    expect(error.hint).toContain('minor');
    expect(next(['1.0.2147483647'], 'minor')).toBe('1.1.0');
  });
});

describe('date', () => {
  test('is the day in UTC without leading zeros', () => {
    const now = new Date('2026-03-05T23:30:00-05:00');
    expect(nextNumber('date', { used: [], now })).toBe('2026.3.6');
  });

  test('leap day and year end are days like others', () => {
    expect(nextNumber('date', { used: ['2028.2.28'], now: day('2028-02-29') })).toBe('2028.2.29');
    expect(nextNumber('date', { used: ['2028.2.29'], now: day('2028-03-01') })).toBe('2028.3.1');
    expect(nextNumber('date', { used: ['2026.12.31'], now: day('2027-01-01') })).toBe('2027.1.1');
  });

  test('a second build on a day is refused and names the policy calendar', () => {
    const error = refused('date', { used: ['2026.11.15'], now: day('2026-11-15') });
    expect(error.code).toBe('number-exhausted');
    expect(error.hint).toContain('`calendar`');
  });

  test('a clock that runs backwards is refused, and told both days', () => {
    const error = refused('date', { used: ['2026.11.15'], now: day('2026-11-14') });
    expect(error.message).toContain('2026.11.14');
    expect(error.message).toContain('2026.11.15');
    expect(error.hint).toContain('`calendar`');
  });
});

describe('calendar', () => {
  const next = (used: string[], text: string) => nextNumber('calendar', { used, now: day(text) });

  test('counts the builds of a day from 0', () => {
    expect(next([], '2026-11-05')).toBe('202611.5.0');
    expect(next(['202611.5.0'], '2026-11-05')).toBe('202611.5.1');
    expect(next(['202611.5.9', '202611.5.10'], '2026-11-05')).toBe('202611.5.11');
    expect(next(['202611.5.11'], '2026-11-06')).toBe('202611.6.0');
    expect(next(['202612.31.4'], '2027-01-01')).toBe('202701.1.0');
  });

  test('goes on counting on the greatest day when the clock runs backwards', () => {
    expect(next(['202611.15.3'], '2026-11-14')).toBe('202611.15.4');
    expect(next(['202701.1.0'], '2026-12-31')).toBe('202701.1.1');
  });

  test('an image can change from date to calendar, and goes on growing', () => {
    expect(next(['2030.12.31'], '2026-11-15')).toBe('202611.15.0');
  });

  test('a clock before 1970 or after 9999 makes no number', () => {
    for (const now of [new Date(-1), new Date(Number.NaN), new Date(8.64e15)]) {
      expect(refused('calendar', { used: [], now }).code).toBe('input-invalid');
    }
  });
});

describe('windows', () => {
  const next = (used: string[], system?: string) =>
    nextNumber('windows', { used, system, now: day('2026-08-12') });

  test('is the build, the revision, and the day; a second one of a day takes the next number', () => {
    expect(next([], '20348.5499')).toBe('20348.5499.260812');
    expect(next(['20348.5499.260812'], '20348.5499')).toBe('20348.5499.260813');
    expect(next(['20348.5499.260812'], '20348.5500')).toBe('20348.5500.260812');
    expect(next(['26100.1.260812'], '20348.5499')).toBe('20348.5499.260812');
  });

  test('needs the build', () => {
    expect(() => next([])).toThrow(expect.objectContaining({ code: 'input-invalid' }));
  });
});

describe('kubernetes', () => {
  const facts = (used: string[], kubernetes: string) => ({ used, kubernetes, now: day('2026-11-15') });

  test('is the Kubernetes version', () => {
    expect(nextNumber('kubernetes', facts([], '1.34.2'))).toBe('1.34.2');
    expect(nextNumber('kubernetes', facts([], 'v1.34.2'))).toBe('1.34.2');
  });

  test('an older minor version can be built after a newer one', () => {
    expect(nextNumber('kubernetes', facts(['1.35.0', '1.34.1'], '1.34.2'))).toBe('1.34.2');
  });

  test('a second build is refused and names the policy kubernetes-build', () => {
    const error = refused('kubernetes', facts(['1.34.2'], '1.34.2'));
    expect(error.code).toBe('number-exhausted');
    expect(error.hint).toContain('`kubernetes-build`');
  });

  test('an older patch release can be built after a newer one', () => {
    expect(nextNumber('kubernetes', facts(['1.34.3'], '1.34.2'))).toBe('1.34.2');
  });

  test('needs a Kubernetes version that is released', () => {
    expect(refused('kubernetes', { used: [], now: day('2026-11-15') }).code).toBe('input-invalid');
    expect(refused('kubernetes', facts([], '1.35.0-rc.1')).code).toBe('number-malformed');
    expect(refused('kubernetes', facts([], '1.35')).hint).toContain('1.35.0');
  });
});

describe('kubernetes-build', () => {
  const next = (used: string[], kubernetes: string) =>
    nextNumber('kubernetes-build', { used, kubernetes, now: day('2026-11-15') });

  test('has a thousand builds of each Kubernetes version, counted from 0', () => {
    expect(next([], '1.34.2')).toBe('1.34.2000');
    expect(next(['1.34.2000'], '1.34.2')).toBe('1.34.2001');
    expect(next(['1.34.2001'], '1.34.3')).toBe('1.34.3000');
    expect(next(['1.34.0'], '1.34.0')).toBe('1.34.1');
    expect(next(['1.35.5'], '1.34.0')).toBe('1.34.0');
  });

  test('follows the policy kubernetes in the same image', () => {
    expect(next(['1.34.1', '1.34.2'], '1.34.2')).toBe('1.34.2000');
  });

  test('is exhausted after the last build, and not before', () => {
    expect(next(['1.34.2998'], '1.34.2')).toBe('1.34.2999');
    expect(() => next(['1.34.2999'], '1.34.2')).toThrow(
      expect.objectContaining({ code: 'number-exhausted' }),
    );
    expect(next(['1.34.2999'], '1.34.3')).toBe('1.34.3000');
    expect(() => next([], '1.34.2147484')).toThrow(expect.objectContaining({ code: 'number-exhausted' }));
  });

  test('numbers each patch release on its own, so that a matrix can be released twice', () => {
    expect(next(['1.34.2000', '1.34.3000'], '1.34.2')).toBe('1.34.2001');
    expect(next(['1.34.2000', '1.34.3000', '1.34.2001'], '1.34.3')).toBe('1.34.3001');
    expect(next(['1.34.3000'], '1.34.2')).toBe('1.34.2000');
  });
});

test('only semver can be raised by hand', () => {
  const error = refused('date', { used: [], now: day('2026-11-15'), bump: 'minor' });
  expect(error).toMatchObject({ code: 'input-invalid' });
  expect(error.hint).toContain('semver');
});

// Clocks that jump anywhere, and clocks that stay near midnight, leap days and year ends for many builds.
const clock = fc.oneof(
  fc.date({ min: new Date('1969-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }),
  fc
    .tuple(
      fc.constantFrom('2024-02-28T23', '2024-02-29T23', '2026-12-31T23', '2027-01-01T00', '2100-02-28T23'),
      fc.integer({ min: -200, max: 200 }),
    )
    .map(([start, minutes]) => new Date(Date.parse(`${start}:59:00Z`) + minutes * 60_000)),
);
const kubernetes = fc
  .tuple(fc.integer({ min: 33, max: 35 }), fc.nat(3))
  .map(([minor, patch]) => `1.${minor}.${patch}`);
const build = fc.record({
  policy: fc.constantFrom(...numberingPolicies),
  now: clock,
  kubernetes,
  bump: fc.option(fc.constantFrom(...numberBumps), { nil: undefined }),
});

/** Builds one after the other; a refused one uses no number. */
function numbers(builds: readonly (typeof build extends fc.Arbitrary<infer B> ? B : never)[]): {
  readonly policy: NumberingPolicy;
  readonly number: string;
}[] {
  const made: { policy: NumberingPolicy; number: string }[] = [];
  for (const { policy, now, kubernetes: version, bump } of builds) {
    const used = made.map(({ number }) => number).reverse();
    try {
      const number = nextNumber(policy, {
        used,
        now,
        ...(needsKubernetes(policy) ? { kubernetes: version } : {}),
        ...(policy === 'semver' && bump !== undefined ? { bump } : {}),
      });
      made.push({ policy, number });
    } catch (error) {
      expect(error).toBeInstanceOf(ImagoError);
      expect((error as ImagoError).code).toMatch(/^(number-exhausted|input-invalid)$/);
    }
  }
  return made;
}

describe('under any clock, with refused builds between', () => {
  test('a number is never used twice, also when the policy changes', () => {
    fc.assert(
      fc.property(fc.array(build, { maxLength: 40 }), (builds) => {
        const made = numbers(builds).map(({ number }) => number);
        expect(new Set(made).size).toBe(made.length);
        for (const number of made) expect(() => parseNumber(number)).not.toThrow();
      }),
      { numRuns: 400 },
    );
  });

  test.each(numberingPolicies)('%s grows within its line', (policy) => {
    fc.assert(
      fc.property(fc.array(build, { maxLength: 40 }), (builds) => {
        const last = new Map<string, string>();
        for (const { number } of numbers(builds.map((one) => ({ ...one, policy })))) {
          const { major, minor, patch } = parseNumber(number);
          const release = policy === 'kubernetes' ? patch : Math.floor(patch / buildsPerPatch);
          const line = needsKubernetes(policy) ? `${major}.${minor}.${release}` : 'image';
          const before = last.get(line);
          if (before !== undefined) expect(compareVersions(number, before)).toBeGreaterThan(0);
          last.set(line, number);
        }
      }),
      { numRuns: 200 },
    );
  });

  test('calendar refuses no build at all', () => {
    const clocks = fc.date({ min: new Date(0), max: new Date('9999-12-31'), noInvalidDate: true });
    fc.assert(
      fc.property(fc.array(clocks, { maxLength: 40 }), (times) => {
        const used: string[] = [];
        for (const now of times) used.push(nextNumber('calendar', { used, now }));
        expect(used).toHaveLength(times.length);
      }),
    );
  });

  test('date gives a clock that only moves forward one number for each day', () => {
    const gaps = fc.array(fc.integer({ min: 1, max: 40 * 24 }), { maxLength: 60 });
    fc.assert(
      fc.property(gaps, (hours) => {
        const used: string[] = [];
        const days = new Set<string>();
        let time = Date.parse('2026-11-15T07:00:00Z');
        for (const gap of hours) {
          time += gap * 3_600_000;
          const now = new Date(time);
          const today = now.toISOString().slice(0, 10);
          if (days.has(today)) {
            expect(refused('date', { used, now }).code).toBe('number-exhausted');
          } else {
            used.push(nextNumber('date', { used, now }));
          }
          days.add(today);
        }
        expect(used).toHaveLength(days.size);
      }),
    );
  });
});
