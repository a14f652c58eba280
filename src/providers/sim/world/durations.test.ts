import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { azureDurations, createDurationOf, type DurationKind, fraction } from './durations.ts';

const kinds = Object.keys(azureDurations) as DurationKind[];

describe('durations', () => {
  it('are the same for the same seed, kind and name, in any order of asking', () => {
    const one = createDurationOf(azureDurations, 'seed');
    const other = createDurationOf(azureDurations, 'seed');
    const names = Array.from({ length: 50 }, (_, index) => `node-${index}`);
    const asked = names.map((name) => one('nodeCreate', name));
    expect(
      names
        .toReversed()
        .map((name) => other('nodeCreate', name))
        .toReversed(),
    ).toEqual(asked);
    expect(new Set(asked).size).toBeGreaterThan(40);
    const elsewhere = createDurationOf(azureDurations, 'another seed');
    expect(names.map((name) => elsewhere('nodeCreate', name))).not.toEqual(asked);
  });

  it('stay within what was measured', () => {
    const durationOf = createDurationOf(azureDurations, 'seed');
    fc.assert(
      fc.property(fc.constantFrom(...kinds), fc.string(), (kind, name) => {
        const { low, high } = azureDurations[kind];
        const seconds = durationOf(kind, name) / 1000;
        expect(seconds).toBeGreaterThanOrEqual(low);
        expect(seconds).toBeLessThanOrEqual(high);
      }),
    );
  });

  it.each(['versionCreate', 'nodeStop', 'nodeReimage'] as const)(
    'half of all %s lie below the median',
    (kind) => {
      const durationOf = createDurationOf(azureDurations, 'seed');
      const below = Array.from({ length: 2000 }, (_, index) => durationOf(kind, `n${index}`)).filter(
        (ms) => ms < azureDurations[kind].median * 1000,
      );
      expect(below.length).toBeGreaterThan(900);
      expect(below.length).toBeLessThan(1100);
    },
  );

  it('say what Azure was seen to take', () => {
    expect(azureDurations.versionCreate.median).toBe(423);
    expect(azureDurations.regionAdd.median).toBe(376);
    expect(azureDurations.snapshotCreate.median).toBe(2);
    expect(azureDurations.nodeStop.median).toBe(17);
  });
});

describe('fraction', () => {
  it('spreads names that differ in one digit over the whole range', () => {
    const tenths = new Set(
      Array.from({ length: 200 }, (_, index) =>
        Math.floor(fraction(`web-${String(index).padStart(6, '0')}`) * 10),
      ),
    );
    expect(tenths.size).toBe(10);
  });
});
