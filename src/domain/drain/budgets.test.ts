import { describe, expect, test } from 'vitest';
import type { LabelSelector, Pod, PodDisruptionBudget } from '../kube/objects.ts';
import { findBlockers } from './budgets.ts';

function pod(name: string, ready = true, labels: Record<string, string> = { app: 'web' }): Pod {
  const conditions = [{ type: 'Ready', status: ready ? 'True' : 'False' }];
  return { metadata: { name, namespace: 'n', labels }, status: { phase: 'Running', conditions } };
}

function budget(
  status: PodDisruptionBudget['status'],
  spec: PodDisruptionBudget['spec'] = {},
  name = 'web',
): PodDisruptionBudget {
  return {
    metadata: { name, namespace: 'n', generation: 1 },
    spec: { selector: { matchLabels: { app: 'web' } }, ...spec },
    status: { observedGeneration: 1, expectedPods: 3, desiredHealthy: 2, currentHealthy: 3, ...status },
  };
}

describe('findBlockers', () => {
  test.each<[string, readonly Pod[], PodDisruptionBudget, string]>([
    ['enough disruptions', [pod('a')], budget({ disruptionsAllowed: 1 }), ''],
    ['more pods than disruptions', [pod('a'), pod('b')], budget({ disruptionsAllowed: 1 }), 'waits'],
    ['no disruptions now', [pod('a')], budget({ disruptionsAllowed: 0, currentHealthy: 2 }), 'waits'],
    ['a budget that needs all pods', [pod('a')], budget({ desiredHealthy: 3 }), 'never'],
    ['a budget that was not processed', [pod('a')], budget({ observedGeneration: 0 }), 'waits'],
    ['another namespace', [{ ...pod('a'), metadata: { name: 'a', namespace: 'm' } }], budget({}), ''],
    ['an unready pod of a met budget', [pod('a', false)], budget({ disruptionsAllowed: 0 }), ''],
    ['an unready pod of a missed budget', [pod('a', false)], budget({ currentHealthy: 1 }), 'waits'],
    [
      'an unready pod that may always leave',
      [pod('a', false)],
      budget({ currentHealthy: 1 }, { unhealthyPodEvictionPolicy: 'AlwaysAllow' }),
      '',
    ],
  ])('%s', (_, pods, one, blocks) => {
    expect(findBlockers(pods, [one]).map((blocker) => blocker.blocks)).toEqual(blocks === '' ? [] : [blocks]);
  });

  test('names two budgets that select the same pod', () => {
    const found = findBlockers([pod('a')], [budget({}), budget({}, {}, 'other')]);
    expect(found).toMatchObject([{ budgets: ['n/web', 'n/other'], pods: ['n/a'], blocks: 'never' }]);
  });

  test.each<[LabelSelector, boolean]>([
    [{}, true],
    [{ matchExpressions: [{ key: 'app', operator: 'In', values: ['web', 'db'] }] }, true],
    [{ matchExpressions: [{ key: 'app', operator: 'NotIn', values: ['web'] }] }, false],
    [{ matchExpressions: [{ key: 'app', operator: 'Exists' }] }, true],
    [{ matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] }, false],
  ])('follows the selector %o', (selector, isSelected) => {
    const found = findBlockers([pod('a')], [budget({ disruptionsAllowed: 0 }, { selector })]);
    expect(found).toHaveLength(isSelected ? 1 : 0);
  });
});
