import { describe, expect, test } from 'vitest';
import type { Evidence } from '../evidence/evidence.ts';
import type { ChannelPolicy } from '../policy/policy.ts';
import type { GateFacts } from './facts.ts';
import { evaluateGates, whenOpen, withOverride } from './gate.ts';

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
    requester: { by: 'ann' },
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

describe('fresh', () => {
  const fresh: ChannelPolicy['fresh'] = { securityMs: 7 * 86_400_000 };
  const compared = (indexedAt: string, behind: object[], hasSecurity = true) =>
    evidence(2, {
      kind: 'freshness',
      details: {
        suite: 'trixie',
        indexedAt,
        hasSecurity,
        packages: 9,
        behind: behind as never,
        unlisted: [],
      },
    });
  const update = (since?: string, security = true) => ({
    ...{ name: 'openssl', current: '1', newest: '2', security, ...(since !== undefined && { since }) },
  });
  const today = '2026-11-16T10:00:00Z';

  test.each<[string, Evidence[], boolean]>([
    ['never compared', [], false],
    ['nothing behind', [compared(today, [])], true],
    ['a security update of six days', [compared(today, [update('2026-11-10T12:00:00Z')])], true],
    ['a security update of eight days', [compared(today, [update('2026-11-08T12:00:00Z')])], false],
    ['a security update of unknown age', [compared(today, [update()])], false],
    [
      'an old update that is not for security',
      [compared(today, [update('2026-01-01T12:00:00Z', false)])],
      true,
    ],
    ['an index that is older than seven days', [compared('2026-11-08T12:00:00Z', [])], false],
    ['an archive without security updates', [compared(today, [], false)], false],
    ['another digest', [{ ...compared(today, []), digest: 'sha256:b' }], false],
  ])('%s', (_, found, passed) => {
    expect(gate({ fresh }, facts({ evidence: [evidence(1, {}), ...found] }), 'fresh')).toMatchObject({
      passed,
    });
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

describe('approvals', () => {
  const policy: ChannelPolicy = { approvals: { count: 2, role: 'publisher' } };

  test('are not needed again to go back to a version that was in the channel, unless someone rejected it', () => {
    expect(gate(policy, facts(), 'approvals')).toMatchObject({ passed: false, value: '0' });
    expect(gate(policy, facts({ earlierMove: 7 }), 'approvals')).toMatchObject({
      passed: true,
      value: '0, it was in production before (move 7)',
    });
    const details = { channel: 'production', role: 'publisher' };
    const rejected = evidence(2, { kind: 'approval', passed: false, by: 'bob', details });
    const given = facts({ earlierMove: 7, evidence: [evidence(1, {}), rejected] });
    expect(gate(policy, given, 'approvals')).toMatchObject({ passed: false });
  });
});

describe('a scan report that is missing', () => {
  const policy: ChannelPolicy = { scan: { noneAbove: 'low', maxAgeMs: 3_600_000 } };
  const scan = (at: string, high: number) =>
    evidence(2, {
      kind: 'scan',
      details: { tool: 'trivy', counts: { critical: 0, high, medium: 0, low: 0, unknown: 0 } },
      at,
    });

  test('a missing or outdated report is waited for, and findings are not', () => {
    const when = (given: GateFacts) => whenOpen(evaluateGates(policy, given));
    expect(when(facts())).toBe('people');
    expect(when(facts({ evidence: [evidence(1, {}), scan('2026-11-15T11:00:00.000Z', 0)] }))).toBe('people');
    expect(when(facts({ evidence: [evidence(1, {}), scan('2026-11-16T11:59:00.000Z', 1)] }))).toBeUndefined();
  });
});

describe('real', () => {
  test('stays closed between a simulated version and a real channel, whatever an admin overrides', () => {
    const given = facts();
    const gates = evaluateGates({}, { ...given, version: { ...given.version, simulated: true } });
    expect(gates[0]).toMatchObject({ gate: 'real', passed: false, value: 'it is simulated' });
    expect(withOverride(gates, ['real']).passed).toBe(false);
  });

  test('is not asked in a channel of a simulated image', () => {
    const { version, channel } = facts();
    const simulated = {
      version: { ...version, simulated: true },
      channel: { ...channel, simulated: true },
    } as const;
    expect(evaluateGates({}, facts(simulated)).map(({ gate }) => gate)).toEqual(['tested']);
  });
});
