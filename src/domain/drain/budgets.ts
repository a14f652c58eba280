// Predicts which disruption budgets keep pods on a node, with the arithmetic of the API server's eviction. A prediction
// holds for the moment it is made: the server decides again at each eviction.
import { hasCondition, nameOf, type Pod, type PodDisruptionBudget, selects } from '../kube/objects.ts';

export interface BudgetBlocker {
  /** The budgets as `NAMESPACE/NAME`: more than one only if they overlap. */
  readonly budgets: readonly string[];
  readonly pods: readonly string[];
  /** `never`: waiting does not help until someone changes the budget or its pods. `waits`: it can pass in time. */
  readonly blocks: 'never' | 'waits';
  readonly reason: string;
}

/** Returns the budgets that do not let all of these pods leave immediately. */
export function findBlockers(
  leaving: readonly Pod[],
  budgets: readonly PodDisruptionBudget[],
): readonly BudgetBlocker[] {
  const covered = leaving
    .filter(isCounted)
    .map((pod) => ({ pod, budgets: budgets.filter((budget) => covers(budget, pod)) }));
  const overlaps = covered
    .filter((one) => one.budgets.length > 1)
    .map(
      (one): BudgetBlocker => ({
        budgets: one.budgets.map(nameOf),
        pods: [nameOf(one.pod)],
        blocks: 'never',
        reason: 'more than one budget selects the pod, which the eviction API does not support',
      }),
    );
  const single = budgets.flatMap((budget) => {
    const pods = covered
      .filter((one) => one.budgets.length === 1 && one.budgets[0] === budget)
      .map(({ pod }) => pod)
      .filter((pod) => !leavesUnhealthy(pod, budget));
    const blocker = pods.length === 0 ? undefined : judge(budget, pods);
    return blocker === undefined ? [] : [blocker];
  });
  return [...overlaps, ...single];
}

/** Pods that have not started, have finished, or are being deleted leave past any budget. */
function isCounted({ metadata, status }: Pod): boolean {
  return status?.phase === 'Running' && metadata.deletionTimestamp === undefined;
}

export function covers({ metadata, spec }: PodDisruptionBudget, pod: Pod): boolean {
  if (metadata.namespace !== pod.metadata.namespace || spec?.selector === undefined) return false;
  return selects(spec.selector, pod.metadata.labels);
}

/** Returns whether the budget lets this pod leave because it is not ready. */
export function leavesUnhealthy(pod: Pod, { spec, status }: PodDisruptionBudget): boolean {
  if (hasCondition(pod, 'Ready')) return false;
  const { currentHealthy = 0, desiredHealthy = 0 } = status ?? {};
  return (
    spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow' ||
    (desiredHealthy > 0 && currentHealthy >= desiredHealthy)
  );
}

function judge(budget: PodDisruptionBudget, pods: readonly Pod[]): BudgetBlocker | undefined {
  const { metadata, status = {} } = budget;
  const block = (blocks: BudgetBlocker['blocks'], reason: string): BudgetBlocker => {
    return { budgets: [nameOf(budget)], pods: pods.map(nameOf), blocks, reason };
  };
  if ((status.observedGeneration ?? 0) < (metadata.generation ?? 0))
    return block('waits', 'the budget has not been processed by the controller yet');
  const { disruptionsAllowed = 0, currentHealthy = 0, desiredHealthy = 0, expectedPods = 0 } = status;
  const state = `the budget needs ${desiredHealthy} healthy pods and has ${currentHealthy} of ${expectedPods}`;
  if (desiredHealthy >= expectedPods) return block('never', `${state}: no pod can ever leave`);
  if (disruptionsAllowed <= 0) return block('waits', state);
  if (disruptionsAllowed < pods.length)
    return block('waits', `${state}: ${disruptionsAllowed} of ${pods.length} pods can leave at a time`);
  return undefined;
}
