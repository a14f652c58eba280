import { describe, expect, test } from 'vitest';
import type { ObjectMeta, Pod } from '../kube/objects.ts';
import { type DaemonSetState, type DrainRules, planDrain, readEviction } from './rules.ts';

const now = Date.parse('2026-11-18T12:00:00Z');
const replicas = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: '1', controller: true }];
const daemon = [{ apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: '2', controller: true }];
const emptyDir = { volumes: [{ name: 'scratch', emptyDir: { medium: 'Memory' } }] };

function pod(metadata: Partial<ObjectMeta>, spec: Pod['spec'] = {}, phase = 'Running'): Pod {
  return { metadata: { name: 'p', namespace: 'n', ...metadata }, spec, status: { phase } };
}

function decide(one: Pod, rules: DrainRules = {}, state: DaemonSetState = 'present') {
  const { evict, keep, refuse } = planDrain([one], rules, new Map([['n/agent', state]]), now);
  const [decision] = [...evict, ...keep, ...refuse];
  return `${decision?.action}: ${decision?.reasons.join(' and ')}`;
}

const mirror = { 'kubernetes.io/config.mirror': 'x' };
const all = { force: true, ignoreDaemonSets: true, deleteEmptyDirData: true };
const unknown = { unknown: 'forbidden' };

describe('planDrain', () => {
  test.each<[string, Pod, DrainRules, DaemonSetState, RegExp]>([
    ['evicts a managed pod', pod({ ownerReferences: replicas }), {}, 'present', /^evict: $/],
    ['refuses an unmanaged pod', pod({}), {}, 'present', /^refuse: has no controller/],
    ['evicts an unmanaged pod by force', pod({}), all, 'present', /^evict: has no controller/],
    ['evicts a finished unmanaged pod', pod({}, {}, 'Failed'), {}, 'present', /^evict: $/],
    ['refuses a DaemonSet pod', pod({ ownerReferences: daemon }), {}, 'present', /^refuse: .*n\/agent/],
    ['keeps an ignored DaemonSet pod', pod({ ownerReferences: daemon }), all, 'present', /^keep: .*n\/agent/],
    [
      'evicts a finished DaemonSet pod',
      pod({ ownerReferences: daemon }, {}, 'Failed'),
      {},
      'present',
      /^evict: $/,
    ],
    [
      'refuses an orphan',
      pod({ ownerReferences: daemon }),
      { ignoreDaemonSets: true },
      'missing',
      /^refuse: .*not exist/,
    ],
    ['evicts an orphan by force', pod({ ownerReferences: daemon }), all, 'missing', /^evict: .*not exist/],
    [
      'refuses if the DaemonSet is unknown',
      pod({ ownerReferences: daemon }),
      all,
      unknown,
      /^refuse: .*forbidden/,
    ],
    [
      'takes a DaemonSet of another API for any controller',
      pod({ ownerReferences: daemon.map((one) => ({ ...one, apiVersion: 'apps.kruise.io/v1' })) }),
      ...([{}, 'present', /^evict: $/] as const),
    ],
    ['keeps a static pod', pod({ annotations: mirror }), {}, 'present', /^keep: is a static pod/],
    [
      'refuses a static pod of a DaemonSet, because that filter runs first',
      pod({ annotations: mirror, ownerReferences: daemon }),
      ...([{}, 'present', /^refuse: .*DaemonSet/] as const),
    ],
    ['refuses local data', pod({ ownerReferences: replicas }, emptyDir), {}, 'present', /^refuse: .*scratch/],
    [
      'evicts local data if allowed',
      pod({ ownerReferences: replicas }, emptyDir),
      all,
      'present',
      /^evict: .*scratch/,
    ],
    ['evicts local data of a finished pod', pod({}, emptyDir, 'Succeeded'), {}, 'present', /^evict: $/],
    [
      'reports all that an eviction costs',
      pod({}, emptyDir),
      all,
      'present',
      /^evict: .*scratch and has no controller/,
    ],
  ])('%s', (_, one, rules, state, expected) => {
    expect(decide(one, rules, state)).toMatch(expected);
  });

  test('skips a pod only if it has been terminating for longer than the limit', () => {
    const at = (seconds: number) => new Date(now - seconds * 1000).toISOString();
    const rules = { skipTerminatingAfterSeconds: 10 };
    expect(decide(pod({ ownerReferences: replicas, deletionTimestamp: at(11) }), rules)).toMatch(/^keep/);
    expect(decide(pod({ ownerReferences: replicas, deletionTimestamp: at(10.9) }), rules)).toMatch(/^evict/);
    expect(decide(pod({ ownerReferences: replicas, deletionTimestamp: at(11) }))).toMatch(/^evict/);
  });
});

test.each([
  [{ code: 201 }, false, 'accepted'],
  [{ code: 404 }, false, 'gone'],
  [{ code: 429 }, false, 'later'],
  [{ code: 409 }, false, 'later'],
  [{ code: 500 }, false, 'failed'],
  [{ code: 403 }, true, 'failed'],
  [{ code: 403, details: { causes: [{ reason: 'NamespaceTerminating' }] } }, false, 'later'],
  [{ code: 403, details: { causes: [{ reason: 'NamespaceTerminating' }] } }, true, 'accepted'],
])('reads the response %o to an eviction (terminating: %s) as %s', (status, isTerminating, kind) => {
  expect(readEviction(status, isTerminating).kind).toBe(kind);
});
