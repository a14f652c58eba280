// A gate that is not weaker blocks everything that it blocked before, whatever the version and its evidence are.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { roles } from '../access/roles.ts';
import type { Evidence } from '../evidence/evidence.ts';
import { findingLevels } from '../evidence/finding.ts';
import type { GateFacts } from './facts.ts';
import { weekdays } from './freeze-windows.ts';
import { evaluateGates } from './gate.ts';
import { type ChannelGates, weakerFields } from './policy-gates.ts';

const now = Date.parse('2026-11-16T12:00:00Z');
const few = fc.integer({ min: 0, max: 3 });
const names = fc.uniqueArray(fc.constantFrom('a', 'b', 'c'), { minLength: 1 });
const maybe = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const level = fc.constantFrom(...findingLevels);
const time = fc.constantFrom('08:00', '12:00', '18:00');
const day = fc.constantFrom('2026-11-10', '2026-11-16', '2026-11-17', '2026-12-24');
const zone = { timeZone: fc.constantFrom('UTC', 'Asia/Tokyo'), why: fc.constantFrom('x', 'y') };

const gates: { readonly [K in keyof ChannelGates]-?: fc.Arbitrary<NonNullable<ChannelGates[K]>> } = {
  signed: fc.record({ by: maybe(names) }) as never,
  age: fc.record({ in: maybe(fc.constantFrom('staging', 'canary')), atLeastMs: few }) as never,
  scan: fc.record({
    noneAbove: fc.constantFrom(...findingLevels, 'none' as const),
    maxAgeMs: maybe(few),
    tool: maybe(fc.constantFrom('a', 'b')),
    unknownAs: maybe(level),
  }) as never,
  fresh: fc.record({ securityMs: few }),
  budgets: fc.record({ growth: few, measures: maybe(names) }) as never,
  size: fc.record({ atMostBytes: maybe(few), growth: maybe(few) }) as never,
  approvals: fc.record({
    count: few,
    role: fc.constantFrom(...roles),
    requester: maybe(fc.boolean()),
  }) as never,
  freeze: fc.array(
    fc.oneof(
      fc.record({ kind: fc.constant('dated' as const), from: day, to: day, ...zone }),
      fc.record({
        ...{ kind: fc.constant('weekly' as const), days: fc.subarray([...weekdays]), from: time, to: time },
        ...zone,
      }),
    ),
    { maxLength: 3 },
  ) as never,
  nodeConfig: fc.constant(true as const),
};

const measures = fc.dictionary(fc.constantFrom('a', 'b', 'c'), few);
const counts = fc.record({ low: few, medium: few, high: few, critical: few, unknown: few });

function freshness(indexedAt: string, ageMs: number): object {
  const since = new Date(Date.parse(indexedAt) - ageMs).toISOString();
  const behind = [{ name: 'a', current: '1', newest: '2', security: true, since }];
  return { suite: 'trixie', indexedAt, hasSecurity: true, packages: 1, behind, unlisted: [] };
}

/** Approvals only: a rejection by a role that no longer counts is not what makes a gate strict. */
const facts = fc
  .record({
    scans: fc.array(fc.record({ tool: fc.constantFrom('a', 'b'), counts, ageMs: few })),
    approvals: fc.array(
      fc.record({ by: fc.constantFrom('ann', 'bob', 'cid'), role: fc.constantFrom(...roles) }),
    ),
    signatures: names,
    measures: fc.tuple(measures, measures),
    sizes: fc.tuple(few, few),
    stays: fc.array(few),
    missing: few,
    later: fc.integer({ min: 0, max: 40 * 86_400_000 }),
  })
  .map(({ measures: [mine, theirs], later, missing, ...rest }): GateFacts => {
    const { scans, approvals, signatures, sizes, stays } = rest;
    const evidence = (digest: string, kind: string, details: object, by = 'ci', ageMs = 0) =>
      ({ digest, kind, details, by, passed: true, at: new Date(now + later - ageMs).toISOString() }) as never;
    const numbered = (items: Evidence[]) => items.map((item, index) => ({ ...item, id: index + 1 }));
    const version = (digest: string, sizeBytes: number) =>
      ({ image: 'node', version: digest, digest, state: 'available', sizeBytes }) as never;
    return {
      version: version('d', sizes[0]),
      channel: { name: 'production', forTesting: true, public: false },
      before: {
        version: version('e', sizes[1]),
        evidence: numbered([evidence('e', 'test', { measures: theirs })]),
      },
      evidence: numbered([
        evidence('d', 'test', { measures: mine }),
        ...scans.map(({ ageMs, ...scan }) => evidence('d', 'scan', scan, 'ci', ageMs)),
        evidence('d', 'freshness', freshness(new Date(now + later).toISOString(), missing)),
        ...approvals.map(({ by, role }) => evidence('d', 'approval', { channel: 'production', role }, by)),
      ]),
      signatures: signatures.map((key) => ({ key, identity: 'node', counts: true })),
      earlier: {
        name: 'staging',
        stays: stays.map((ms) => ({
          from: new Date(now + later - ms).toISOString(),
          to: new Date(now + later).toISOString(),
        })),
      },
      followers: [],
      requester: { by: 'ann' },
      now: now + later,
    };
  });

test.each(Object.keys(gates) as (keyof ChannelGates)[])(
  'a gate %s that passes and is not weaker passed before too',
  (name) => {
    const passes = (gate: unknown, given: GateFacts) =>
      evaluateGates({ [name]: gate } as ChannelGates, given).every(({ passed }) => passed);
    fc.assert(
      fc.property(gates[name], gates[name], facts, (before, after, given) => {
        fc.pre(weakerFields(name, before as never, after as never, now).length === 0);
        if (passes(after, given)) expect(passes(before, given)).toBe(true);
      }),
      // The freeze gate searches for the minute in which it opens.
      { numRuns: name === 'freeze' ? 100 : 1000 },
    );
  },
);

test.each<[keyof ChannelGates, object, object, string]>([
  ['approvals', { count: 2, role: 'publisher' }, { count: 1, role: 'publisher' }, 'count'],
  ['approvals', { count: 2, role: 'admin' }, { count: 2, role: 'publisher' }, 'role'],
  ['age', { atLeastMs: 604_800_000 }, { atLeastMs: 420_000 }, 'atLeast'],
  ['age', { atLeastMs: 1 }, { in: 'canary', atLeastMs: 1 }, 'in'],
  ['scan', { noneAbove: 'low' }, { noneAbove: 'high' }, 'noneAbove'],
  ['scan', { noneAbove: 'low', maxAgeMs: 1 }, { noneAbove: 'low' }, 'maxAge'],
  ['scan', { noneAbove: 'low', tool: 'a' }, { noneAbove: 'low' }, 'tool'],
  ['scan', { noneAbove: 'low' }, { noneAbove: 'low', unknownAs: 'low' }, 'unknownAs'],
  ['signed', { by: ['ann', 'bob'] }, { by: ['ann'] }, 'by'],
  ['signed', { by: ['ann'] }, {}, 'by'],
  ['fresh', { securityMs: 1 }, { securityMs: 2 }, 'security'],
  ['budgets', { growth: 0.1 }, { growth: 0.2 }, 'growth'],
  ['size', { atMostBytes: 10 }, { growth: 0.1 }, 'atMost'],
])('the gate %s is weaker with %j and then %j', (name, before, after, field) => {
  expect(weakerFields(name, before as never, after as never, now)).toContain(field);
  expect(weakerFields(name, before as never, before as never, now)).toEqual([]);
});

test('a freeze that is removed is weaker, unless it is over', () => {
  const window = { kind: 'dated', timeZone: 'UTC', why: 'x', from: '2026-11-01', to: '2026-11-10' } as const;
  expect(weakerFields('freeze', [window], [], now)).toEqual([]);
  expect(weakerFields('freeze', [{ ...window, to: '2026-11-20' }], [], now)).toEqual(['windows']);
  expect(weakerFields('freeze', [window], [{ ...window, why: 'y' }], Date.parse('2026-11-05'))).toEqual([]);
});
