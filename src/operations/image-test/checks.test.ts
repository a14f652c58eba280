// Evaluates the answers of machines: no answer is a failure if the machine could have answered.
import { describe, expect, it } from 'vitest';
import type { CheckResult, MachineFacts } from '../../domain/image-test/image-check.ts';
import {
  type Answers,
  builtInChecks,
  checkDisk,
  checkMachine,
  checkPair,
  checkReady,
  checkRecords,
  checkRestart,
  probesFor,
} from './checks.ts';

const facts: MachineFacts = { name: 'a', budgets: {}, now: 0 };
const answers = (said: Readonly<Record<string, string>>): Answers =>
  new Map(Object.entries(said).map(([id, output]) => [id, { exitCode: 0, output }]));
const stateOf = (results: readonly CheckResult[], id: string) =>
  results.find((result) => result.id === id)?.state;

describe('a disk that could not be read', () => {
  it('fails every check, and on a simulated machine reports it as not run', () => {
    const subject = { budgets: {}, tests: [], expect: {}, firmware: [] };
    expect(new Set(checkDisk(subject, false).map(({ state }) => state))).toEqual(new Set(['failed']));
    expect(new Set(checkDisk(subject, true).map(({ state }) => state))).toEqual(new Set(['not-run']));
  });
});

describe('a machine', () => {
  it('that did not become ready has failed, with the end of its console', () => {
    expect(checkReady('a', true, 'ready').state).toBe('passed');
    expect(checkReady('a', false, 'no root')).toMatchObject({ state: 'failed', detail: 'no root' });
  });

  it('that answers some checks only fails the others', () => {
    const results = checkMachine(facts, answers({ 'boot-failed-units': '' }), [], false);
    expect(stateOf(results, 'boot-failed-units')).toBe('passed');
    expect(stateOf(results, 'system-swap')).toBe('failed');
  });

  it('that was started again is not asked what a restart cannot change', () => {
    const asked = (isRestarted: boolean) =>
      probesFor({ ...facts, isRestarted }, [{ name: 'own', run: 'true' }]).map(({ id }) => id);
    expect(asked(false)).toContain('software-packages');
    expect(asked(true)).not.toContain('software-packages');
    expect(asked(true)).toEqual(
      expect.arrayContaining(['boot-failed-units', 'system-swap', 'restart-new-boot', 'recipe-1']),
    );
    const results = checkMachine({ ...facts, isRestarted: true }, new Map(), [], false);
    expect(stateOf(results, 'software-packages')).toBeUndefined();
    expect(stateOf(results, 'system-swap')).toBe('failed');
  });

  it('that never became ready fails by that alone', () => {
    const results = checkMachine(facts, new Map(), [{ name: 'own', run: 'true' }], true);
    expect(new Set(results.map(({ state }) => state))).toEqual(new Set(['not-run']));
    expect(results.at(-1)).toMatchObject({ id: 'recipe-1', title: 'own' });
  });

  it('fails a test of the recipe by its exit code, and tells what it said', () => {
    const own = new Map([['recipe-1', { exitCode: 3, output: 'no mirror\n' }]]);
    const results = checkMachine(facts, own, [{ name: 'the mirror answers', run: 'x' }], false);
    expect(results.at(-1)).toMatchObject({ state: 'failed', detail: 'ended with 3: no mirror' });
  });
});

describe('a comparison', () => {
  it('of two machines fails when one of them left out an answer', () => {
    const both = checkPair(
      facts,
      answers({ 'pair-machine-id': 'x' }),
      answers({ 'pair-host-name': 'b', 'pair-machine-id': 'y' }),
    );
    expect(stateOf(both, 'pair-machine-id')).toBe('passed');
    expect(stateOf(both, 'pair-host-name')).toBe('failed');
  });
});

describe('the records of two machines', () => {
  const digest = 'sha256:a';
  const states = (ids: readonly (string | undefined)[], digests: readonly (string | undefined)[]) => {
    const records = ids.map((machineId, index) => ({ machineId, digest: digests[index] }));
    return checkRecords(records, digest).map(({ state }) => state);
  };

  it.each([
    [
      ['x', 'y'],
      [digest, digest],
      ['passed', 'passed'],
    ],
    [
      ['x', 'x'],
      [digest, digest],
      ['failed', 'passed'],
    ],
    [
      ['x', undefined],
      [digest, digest],
      ['failed', 'passed'],
    ],
    [
      ['x', 'y'],
      [digest, 'sha256:b'],
      ['passed', 'failed'],
    ],
    [
      ['x', 'y'],
      [digest, undefined],
      ['passed', 'failed'],
    ],
  ] as const)('with ids %j and digests %j are %j', (ids, digests, expected) => {
    expect(states(ids, digests)).toEqual(expected);
  });
});

describe('a restart', () => {
  const before = answers({ 'restart-new-boot': '1', 'restart-machine-id': 'm', 'restart-failed-units': '' });
  const after = answers({ 'restart-new-boot': '2', 'restart-machine-id': 'm', 'restart-failed-units': '' });

  it.each([
    ['[  9.9] reboot: Power down', 'passed'],
    ['systemd-shutdown[1]: Powering off.', 'passed'],
    ['a login prompt', 'failed'],
  ] as const)('whose console ends with %j has %s the check of a clean end', (line, state) => {
    expect(stateOf(checkRestart(facts, before, after, [line]), 'restart-clean-shutdown')).toBe(state);
  });

  it('of a machine that said nothing before its end fails', () => {
    expect(stateOf(checkRestart(facts, before, after, []), 'restart-clean-shutdown')).toBe('failed');
  });
});

it('every built-in check has an id of its own, a sentence and a remedy', () => {
  expect(new Set(builtInChecks.map(({ id }) => id)).size).toBe(builtInChecks.length);
  for (const { title, remedy } of builtInChecks)
    expect([title, remedy].every((text) => text.length > 8)).toBe(true);
});
