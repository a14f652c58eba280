import { describe, expect, test } from 'vitest';
import type { Evidence } from '../evidence/evidence.ts';
import type { ChannelPolicy } from '../policy/policy.ts';
import { evaluateGates, type GateFacts, whenOpen, withOverride } from './gate.ts';

const digest = 'sha256:a';
const now = Date.parse('2026-11-16T12:00:00Z');

function evidence(id: number, more: Partial<Evidence>): Evidence {
  return {
    ...{ id, digest, kind: 'test', passed: true, summary: 'tested', details: {}, by: 'ci' },
    at: '2026-11-16T11:00:00.000Z',
    ...more,
  };
}

function facts(more: Partial<GateFacts> = {}): GateFacts {
  return {
    version: {
      ...{ image: 'node', version: '1.0.1', digest, state: 'available', sizeBytes: 1100 },
      createdAt: '2026-11-16T10:00:00.000Z',
    },
    channel: { name: 'production', forTesting: false, public: false },
    evidence: [evidence(1, {})],
    followers: [],
    requester: 'ann',
    now,
    ...more,
  };
}

const before: GateFacts['before'] = {
  version: {
    ...{ image: 'node', version: '1.0.0', digest: 'sha256:b', state: 'available', sizeBytes: 1000 },
    createdAt: '2026-11-15T10:00:00.000Z',
  },
  evidence: [evidence(2, { digest: 'sha256:b', details: { measures: { bootToReadyMs: 1000 } } })],
};

function gate(policy: ChannelPolicy, given: GateFacts, name: string) {
  return evaluateGates(policy, given).find((result) => result.gate === name);
}

describe('tested', () => {
  test('rule 4: the newest test of this very digest decides, whatever the policy says', () => {
    expect(gate({}, facts(), 'tested')).toMatchObject({ passed: true, evidence: [1] });
    const failed = facts({ evidence: [evidence(1, {}), evidence(2, { passed: false })] });
    expect(gate({}, failed, 'tested')).toMatchObject({ passed: false, evidence: [2] });
    const other = facts({ evidence: [evidence(1, { digest: 'sha256:z' })] });
    expect(gate({}, other, 'tested')).toMatchObject({ passed: false });
  });

  test('an override of it is not heard', () => {
    const gates = evaluateGates({}, facts({ evidence: [] }));
    expect(withOverride(gates, ['tested', 'restricted'])).toMatchObject({ passed: false });
  });
});

describe('budgets', () => {
  const policy: ChannelPolicy = { budgets: { growth: 0.2 } };
  const measured = (bootToReadyMs: number) => [evidence(1, { details: { measures: { bootToReadyMs } } })];

  test.each([
    [1200, true],
    [1201, false],
    [400, true],
  ])('%i ms after 1000 ms, with 20 %% allowed', (ms, passed) => {
    expect(gate(policy, facts({ before, evidence: measured(ms) }), 'budgets')).toMatchObject({ passed });
  });

  test('nothing measured is not passed; no version before is', () => {
    expect(gate(policy, facts({ before }), 'budgets')).toMatchObject({ passed: false });
    expect(gate(policy, facts(), 'budgets')).toMatchObject({ passed: true });
    const wanted: ChannelPolicy = { budgets: { growth: 0.2, measures: ['memory'] } };
    expect(gate(wanted, facts(), 'budgets')).toMatchObject({ passed: false, value: 'not measured: memory' });
  });
});

describe('size', () => {
  test.each<[ChannelPolicy['size'], boolean]>([
    [{ atMostBytes: 1100 }, true],
    [{ atMostBytes: 1099 }, false],
    [{ growth: 0.1001 }, true],
    [{ growth: 0.05 }, false],
  ])('%j', (size, passed) => {
    expect(gate(size === undefined ? {} : { size }, facts({ before }), 'size')).toMatchObject({ passed });
  });
});

describe('scan', () => {
  const scan = (id: number, tool: string, counts: object, at = '2026-11-16T11:00:00.000Z') =>
    evidence(id, {
      ...{ kind: 'scan', at },
      details: { tool, counts: { critical: 0, high: 0, medium: 0, low: 0, unknown: 0, ...counts } },
    });

  test.each<[string, ChannelPolicy['scan'], Evidence[], boolean]>([
    ['none attached', { noneAbove: 'critical' }, [], false],
    ['at the level', { noneAbove: 'medium' }, [scan(2, 'a', { medium: 3 })], true],
    ['above the level', { noneAbove: 'medium' }, [scan(2, 'a', { high: 1 })], false],
    ['anything, with none allowed', { noneAbove: 'none' }, [scan(2, 'a', { low: 1 })], false],
    ['the newest of a tool', { noneAbove: 'low' }, [scan(2, 'a', { high: 1 }), scan(3, 'a', {})], true],
    [
      'another tool hides nothing',
      { noneAbove: 'low' },
      [scan(2, 'a', { high: 1 }), scan(3, 'b', {})],
      false,
    ],
    ['unknown counts as high', { noneAbove: 'medium' }, [scan(2, 'a', { unknown: 1 })], false],
    ['unless it is said', { noneAbove: 'medium', unknownAs: 'low' }, [scan(2, 'a', { unknown: 1 })], true],
    ['too old', { noneAbove: 'high', maxAgeMs: 1000 }, [scan(2, 'a', {})], false],
    ['of another tool', { noneAbove: 'high', tool: 'b' }, [scan(2, 'a', {})], false],
    ['no counts at all', { noneAbove: 'medium' }, [evidence(2, { kind: 'scan' })], false],
  ])('%s', (_, asked, scans, passed) => {
    const given = facts({ evidence: [evidence(1, {}), ...scans] });
    expect(gate(asked === undefined ? {} : { scan: asked }, given, 'scan')).toMatchObject({ passed });
  });
});

describe('when closed gates open', () => {
  test('at the latest of their times; when people speak; or never', () => {
    const early = {
      gate: 'age',
      passed: false,
      needs: '',
      value: '',
      opensAt: '2026-11-16T13:00:00.000Z',
    } as const;
    const late = { ...early, gate: 'freeze', opensAt: '2026-11-16T14:00:00.000Z' } as const;
    const people = { gate: 'approvals', passed: false, needs: '', value: '', waitsForPeople: true } as const;
    const never = { gate: 'size', passed: false, needs: '', value: '' } as const;
    expect(whenOpen([early, late])).toBe(Date.parse(late.opensAt));
    expect(whenOpen([people])).toBe('people');
    expect(whenOpen([people, early])).toBe(Date.parse(early.opensAt));
    expect(whenOpen([people, never])).toBeUndefined();
  });
});
