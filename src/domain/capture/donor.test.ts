// Scenario 24 of a capture: one test for each rule and for each of its edges.
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chooseDonor, type DonorNode, type DonorRequest, type DonorRule, donorRules } from './donor.ts';

const now = new Date('2026-11-18T12:00:00Z');
const hour = 3_600_000;
const ago = (ms: number) => new Date(now.getTime() - ms).toISOString();

function node(name: string, change: Partial<DonorNode> = {}): DonorNode {
  return {
    name,
    pool: 'web',
    model: 'node:1.0.0',
    generation: 0,
    isReady: true,
    readyChangedAt: ago(48 * hour),
    heartbeatAt: ago(10_000),
    hasDisk: true,
    isProtected: false,
    isSchedulable: true,
    isControlPlane: false,
    isOptedOut: false,
    isRebootPending: false,
    patchedAt: ago(24 * hour),
    problems: [],
    pods: 10,
    ...change,
  };
}

const request: DonorRequest = { pool: 'web', models: ['node:1.0.0'], now, lastVersionAt: ago(72 * hour) };

/** The rules that the first node fails, next to healthy peers. */
function failed(change: Partial<DonorNode>, more: Partial<DonorRequest> = {}): readonly DonorRule[] {
  const { nodes } = chooseDonor([node('a', change), node('b'), node('c')], { ...request, ...more });
  const found = nodes.find(({ name }) => name === 'a');
  return (found?.rules ?? []).filter(({ isMet }) => !isMet).map(({ rule }) => rule);
}

describe('a rule', () => {
  const cases: readonly (readonly [string, Partial<DonorNode>, DonorRule | undefined])[] = [
    ['a healthy node passes all of them', {}, undefined],
    ['a pool whose name contains that of the pool is another one', { pool: 'web-vmss' }, 'pool'],
    ['a node of an older version is not captured', { model: 'node:0.9.0' }, 'model'],
    ['nine captures in a row are allowed', { generation: 9 }, undefined],
    ['a tenth descendant is not captured', { generation: 10 }, 'generation'],
    ['the control plane is not captured', { isControlPlane: true }, 'worker'],
    ['a node that opted out is not captured', { isOptedOut: true }, 'opted-in'],
    ['a node in another operation is not captured', { operation: 'op-7' }, 'idle'],
    ['a node with an ephemeral disk is not captured', { hasDisk: false }, 'disk'],
    ['a node that another user protects is not captured', { isProtected: true }, 'unprotected'],
    ['a cordoned node is not captured', { isSchedulable: false }, 'schedulable'],
    ['a node without a heartbeat is not captured', { heartbeatAt: undefined }, 'heartbeat'],
    ['a heartbeat of exactly 5 minutes counts', { heartbeatAt: ago(300_000) }, undefined],
    ['a heartbeat of more than 5 minutes is stale', { heartbeatAt: ago(300_001) }, 'heartbeat'],
    ['a heartbeat ahead of our clock counts', { heartbeatAt: ago(-30_000) }, undefined],
    ['a ready time of the minimum counts', { readyChangedAt: ago(24 * hour) }, undefined],
    ['a ready time of one millisecond less does not', { readyChangedAt: ago(24 * hour - 1) }, 'ready'],
    ['a node that just became ready is not captured', { readyChangedAt: ago(0) }, 'ready'],
    ['a node that has not been ready for long is not ready', { isReady: false }, 'ready'],
    ['a node that is ready since an unknown time is not captured', { readyChangedAt: undefined }, 'ready'],
    ['a node with a problem is not captured', { problems: ['DiskPressure'] }, 'healthy'],
    ['a node that must reboot is not captured', { isRebootPending: true }, 'rebooted'],
    ['a node that was never patched is not captured', { patchedAt: undefined }, 'patched'],
    ['a patch at the time of the last version is not newer', { patchedAt: ago(72 * hour) }, 'patched'],
    ['a patch one millisecond later is', { patchedAt: ago(72 * hour - 1) }, undefined],
    ['an annotation that is not a time is no patch', { patchedAt: 'yesterday' }, 'patched'],
    ['an annotation without a time zone is no patch', { patchedAt: '2026-11-17T12:00:00' }, 'patched'],
  ];
  it.each(cases)('%s', (_, change, rule) => {
    expect(failed(change)).toEqual(rule === undefined ? [] : [rule]);
  });

  it('a ready time of 0 is enough if none is required', () => {
    expect(failed({ readyChangedAt: ago(0) }, { minReadyMs: 0 })).toEqual([]);
  });

  it('times in other zones are compared as instants', () => {
    const last = { lastVersionAt: '2026-11-17T01:30:00+02:00' };
    expect(failed({ patchedAt: '2026-11-16T23:30:00Z' }, last)).toEqual(['patched']);
    expect(failed({ patchedAt: '2026-11-17T00:00:00+00:00' }, last)).toEqual([]);
    expect(failed({ patchedAt: '2026-11-17T01:00:00+02:00' }, last)).toEqual(['patched']);
  });

  it('without a last version every patch is newer', () => {
    expect(failed({ patchedAt: ago(9000 * hour) }, { lastVersionAt: undefined })).toEqual([]);
  });

  it('the last ready node of the pool is not captured', () => {
    const { donor, nodes } = chooseDonor([node('a'), node('b', { isReady: false })], {
      ...request,
      minReadyPeers: 0,
    });
    expect(donor).toBeUndefined();
    expect(nodes.find(({ name }) => name === 'a')?.rules).toContainEqual({
      rule: 'not-last-in-pool',
      value: '0 others ready',
      isMet: false,
    });
  });

  it('the last ready node of its zone is not captured', () => {
    const nodes = [node('a', { zone: '1' }), node('b', { zone: '2' }), node('c', { zone: '2' })];
    const choice = chooseDonor(nodes, request);
    expect(choice.donor).toBe('b');
    expect(choice.nodes.at(-1)).toMatchObject({ name: 'a', isCandidate: false });
  });

  it('peers of another pool do not count', () => {
    expect(chooseDonor([node('a'), node('b', { pool: 'web2' })], request).donor).toBeUndefined();
  });

  it('80 percent of the peers must be ready', () => {
    const sick = (count: number) => [
      ...Array.from({ length: 6 - count }, (_, index) => node(`well-${index}`)),
      ...Array.from({ length: count }, (_, index) => node(`sick-${index}`, { isReady: false })),
    ];
    expect(chooseDonor(sick(1), request).donor).toBe('well-0');
    expect(chooseDonor(sick(2), request).donor).toBeUndefined();
  });
});

describe('a choice', () => {
  it('every node has a value for every rule', () => {
    const { nodes } = chooseDonor([node('a'), node('b', { pool: 'other' })], request);
    for (const { rules } of nodes) {
      expect(rules.map(({ rule }) => rule)).toEqual(donorRules);
      expect(rules.every(({ value }) => value !== '')).toBe(true);
    }
  });

  it('the higher score wins', () => {
    const few = node('few', { pods: 0 });
    expect(chooseDonor([node('a'), few], request).donor).toBe('few');
    const longer = node('longer', { readyChangedAt: ago(120 * hour) });
    expect(chooseDonor([node('a'), longer], request).donor).toBe('longer');
  });

  it('a tie is decided by the ready time, then by the name', () => {
    const longer = node('z', { readyChangedAt: ago(48 * hour + 1) });
    expect(chooseDonor([node('b'), node('a'), longer], request).donor).toBe('z');
    expect(chooseDonor([node('b'), node('a'), node('c')], request).donor).toBe('a');
  });

  it('too few candidates are refused, and enough are not', () => {
    const three = [node('a'), node('b'), node('c', { isSchedulable: false })];
    expect(chooseDonor(three, { ...request, minCandidates: 2 }).donor).toBe('a');
    expect(chooseDonor(three, { ...request, minCandidates: 3 })).toMatchObject({
      refusal: 'There are 2 candidates, and at least 3 are required.',
    });
  });

  it('patches are waived only once the last version is older than the limit', () => {
    const old = ['a', 'b'].map((name) => node(name, { patchedAt: ago(100 * hour) }));
    const choose = (maxVersionAgeMs: number) => chooseDonor(old, { ...request, maxVersionAgeMs });
    expect(choose(72 * hour)).toMatchObject({ refusal: 'No node is a candidate.', isPatchWaived: false });
    expect(choose(72 * hour - 1)).toMatchObject({ donor: 'a', isPatchWaived: true });
  });

  it('a named node must pass the rules too', () => {
    const nodes = [node('a', { isSchedulable: false }), node('b'), node('c')];
    expect(chooseDonor(nodes, { ...request, node: 'c' }).donor).toBe('c');
    expect(chooseDonor(nodes, { ...request, node: 'a' }).refusal).toBe('Node a is not a candidate.');
    expect(chooseDonor(nodes, { ...request, node: 'x' }).refusal).toBe('Node x is not a candidate.');
  });

  it('an empty pool has no donor', () => {
    expect(chooseDonor([], request)).toMatchObject({ refusal: 'No node is a candidate.' });
  });

  it('the order of the nodes does not matter', () => {
    const nodes = ['d', 'a', 'c', 'b'].map((name, index) => node(name, { pods: (index % 2) * 7 }));
    const expected = chooseDonor(nodes, request);
    fc.assert(
      fc.property(fc.shuffledSubarray(nodes, { minLength: nodes.length }), (shuffled) => {
        expect(chooseDonor(shuffled, request)).toEqual(expected);
      }),
    );
  });
});
