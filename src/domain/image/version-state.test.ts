import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Evidence, testsPassed } from '../evidence/evidence.ts';
import {
  allowedNext,
  checkStateChange,
  isUsable,
  restoredState,
  type StatefulVersion,
  type VersionState,
  versionStates,
} from './version-state.ts';

const digest = `sha256:${'a'.repeat(64)}`;
const passed: Evidence = {
  id: 1,
  digest,
  kind: 'test',
  passed: true,
  summary: '4 of 4 checks passed',
  details: null,
  by: 'ada',
  at: '2026-11-15T00:00:00.000Z',
};

function version(state: VersionState, more: Partial<StatefulVersion> = {}): StatefulVersion {
  return { image: 'node', version: '1.0.0', digest, state, ...more };
}

describe('states follow each other', () => {
  test.each<[VersionState, readonly VersionState[]]>([
    ['candidate', ['available', 'withdrawn', 'deleted']],
    ['available', ['deprecated', 'withdrawn']],
    ['deprecated', ['available', 'withdrawn']],
    ['withdrawn', ['candidate', 'available', 'deprecated', 'deleted']],
    ['deleted', []],
  ])('%s', (from, to) => {
    expect(allowedNext(from)).toEqual(to);
  });

  test('what is not allowed is refused with what is', () => {
    expect(() => checkStateChange(version('available'), 'deleted')).toThrow(
      expect.objectContaining({
        code: 'version-state',
        hint: 'From available it can become deprecated, withdrawn.',
      }),
    );
  });

  test('deleted is for ever', () => {
    for (const to of versionStates.filter((state) => state !== 'deleted')) {
      expect(() => checkStateChange(version('deleted'), to, { reason: 'x', evidence: [passed] })).toThrow(
        expect.objectContaining({ code: 'version-state' }),
      );
    }
  });

  test('a change to the state that it has is no change, and needs nothing', () => {
    for (const state of versionStates) expect(checkStateChange(version(state), state)).toBe(false);
  });
});

describe('rule 4: nothing becomes available without a passed test of its digest', () => {
  const refused = expect.objectContaining({ code: 'version-untested' });

  test.each<[string, readonly Evidence[]]>([
    ['no evidence', []],
    ['a failed test', [{ ...passed, passed: false }]],
    ['a passed test of another digest', [{ ...passed, digest: `sha256:${'b'.repeat(64)}` }]],
    ['a passed scan', [{ ...passed, kind: 'scan' }]],
    ['an approval', [{ ...passed, kind: 'approval' }]],
    ['a test that failed after one that passed', [{ ...passed, id: 2, passed: false }, passed]],
  ])('%s does not do', (_, evidence) => {
    expect(() => checkStateChange(version('candidate'), 'available', { evidence })).toThrow(refused);
    expect(testsPassed(digest, evidence)).toBe(false);
  });

  test('the newest test counts', () => {
    const evidence = [passed, { ...passed, id: 3 }, { ...passed, id: 2, passed: false }];
    expect(checkStateChange(version('candidate'), 'available', { evidence })).toBe(true);
  });

  test('no way leads from candidate to available around the test', () => {
    const step = fc.record({
      to: fc.constantFrom(...versionStates),
      reason: fc.constantFrom('', 'broken'),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        let now = version('candidate');
        for (const { to, reason } of steps) {
          const from = now.state;
          try {
            if (!checkStateChange(now, to, { reason, evidence: [] })) continue;
          } catch {
            continue;
          }
          const leaving = to === 'withdrawn' && from !== 'withdrawn' && from !== 'deleted';
          now = version(to, leaving ? { withdrawnFrom: from } : {});
          expect(['candidate', 'withdrawn', 'deleted']).toContain(now.state);
        }
      }),
    );
  });
});

describe('withdrawal', () => {
  test.each([undefined, '', '  '])('needs a reason, and %j is none', (reason) => {
    const change = reason === undefined ? {} : { reason };
    expect(() => checkStateChange(version('available'), 'withdrawn', change)).toThrow(
      expect.objectContaining({ code: 'reason-missing', exitCode: 2 }),
    );
  });

  test('is taken back to the state before it, and to no other', () => {
    const withdrawn = version('withdrawn', { withdrawnFrom: 'deprecated' });
    expect(restoredState(withdrawn)).toBe('deprecated');
    expect(checkStateChange(withdrawn, 'deprecated', { evidence: [passed] })).toBe(true);
    expect(() => checkStateChange(withdrawn, 'available', { evidence: [passed] })).toThrow(
      expect.objectContaining({ code: 'version-state' }),
    );
  });

  test('of a version whose earlier state is not known is taken back to candidate', () => {
    expect(restoredState(version('withdrawn'))).toBe('candidate');
  });

  test('a restored version passes by its tests again', () => {
    const withdrawn = version('withdrawn', { withdrawnFrom: 'available' });
    expect(() => checkStateChange(withdrawn, 'available')).toThrow(
      expect.objectContaining({ code: 'version-untested' }),
    );
  });

  test('leaves nothing that nodes may be made from', () => {
    expect(versionStates.filter(isUsable)).toEqual(['candidate', 'available', 'deprecated']);
  });
});
