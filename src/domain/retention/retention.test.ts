import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { VersionState } from '../image/version-state.ts';
import {
  describeKeeper,
  planRetention,
  type RetainedVersion,
  type RetentionEntry,
  RetentionTally,
} from './retention.ts';

function version(n: number, more: Partial<RetainedVersion> = {}): RetainedVersion {
  return {
    ...{ image: 'node', version: `1.0.${n}`, state: 'available', digest: `sha256:${n}`, sizeBytes: 10 },
    ...{ diskDigest: `disk-${n}`, createdAt: new Date(Date.UTC(2026, 0, 1 + n)).toISOString(), ...more },
  };
}

const now = new Date('2026-06-01');

test('rule 7: whatever is used, current or the way back of a channel is never among what can go', () => {
  const states: readonly VersionState[] = ['candidate', 'available', 'deprecated', 'withdrawn'];
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...states), { minLength: 1, maxLength: 10 }),
      fc.array(fc.nat(9), { maxLength: 12 }),
      fc.array(fc.nat(9), { maxLength: 4 }),
      (made, trail, used) => {
        const versions = made.map((state, n) => version(n, { state }));
        const steps = trail.filter((n) => n < made.length && made[n] === 'available');
        const current = steps.at(-1);
        const entries = planRetention(
          {
            versions,
            channels: [
              {
                ...{ image: 'node', name: 'production', forTesting: false, managed: false, position: 2 },
                public: false,
                ...(current === undefined ? {} : { version: `1.0.${current}` }),
              },
            ],
            moves: [{ image: 'node', channel: 'production', targets: steps.map((n) => `1.0.${n}`) }],
            matrices: new Map(),
            uses: used.map((n) => ({ image: 'node', version: `1.0.${n}`, kind: 'node', name: 'web-1' })),
          },
          {},
          now,
        );
        const going = new Set(
          entries.filter(({ keepers }) => keepers.length === 0).map((item) => item.version),
        );
        for (const n of used) expect(going.has(`1.0.${n}`)).toBe(false);
        if (current !== undefined) expect(going.has(`1.0.${current}`)).toBe(false);
        const before = steps.findLast((n) => n !== current);
        if (before !== undefined) expect(going.has(`1.0.${before}`)).toBe(false);
        const usable = versions.filter(({ state }) => state !== 'withdrawn').at(-1);
        if (usable !== undefined) expect(going.has(usable.version)).toBe(false);
      },
    ),
  );
});

test('the newest version of each Kubernetes release that the recipe lists is kept', () => {
  const entries = planRetention(
    {
      versions: [
        version(0, { kubernetes: '1.34.2' }),
        version(1, { kubernetes: '1.34.2' }),
        version(2, { kubernetes: '1.34.3' }),
        version(3, { kubernetes: '1.34.3', state: 'withdrawn' }),
        version(4, { kubernetes: '1.34.1' }),
        version(5, { kubernetes: '1.34.4' }),
      ],
      ...{ channels: [], moves: [], uses: [] },
      matrices: new Map([['node', ['1.34.2', '1.34.3', '1.34.4', '1.34.5']]]),
    },
    {},
    now,
  );
  const going = entries.filter(({ keepers }) => keepers.length === 0).map((entry) => entry.version);
  expect(going).toEqual(['1.0.0', '1.0.3', '1.0.4']);
  const [kept] = entries.find((entry) => entry.version === '1.0.1')?.keepers ?? [];
  expect(kept && describeKeeper(kept)).toBe('the recipe lists Kubernetes 1.34.2');
});

test('a disk that two versions share is freed once, and only when both go', () => {
  const totalsOf = (...entries: readonly RetentionEntry[]) => {
    const tally = new RetentionTally();
    for (const one of entries) tally.add(one);
    return tally.totals();
  };
  const entry = (n: number, disk: string, kept: boolean): RetentionEntry => ({
    ...version(n, { diskDigest: disk }),
    keepers: kept ? [{ kind: 'hold', name: 'x' } as const] : [],
  });
  expect(totalsOf(entry(0, 'a', false), entry(1, 'a', false), entry(2, 'b', false))).toEqual({
    ...{ kept: 0, going: 3, freedBytes: 20 },
  });
  expect(totalsOf(entry(0, 'a', false), entry(1, 'a', true))).toEqual({
    ...{ kept: 1, going: 1, freedBytes: 0 },
  });
});

test('what keeps a version is told in words, with how many there are', () => {
  expect(describeKeeper({ kind: 'node', name: 'web-1', count: 212 })).toBe('212 nodes (web-1, …)');
  expect(describeKeeper({ kind: 'pool-rollback', name: 'web' })).toBe('pool web could go back to it');
});
