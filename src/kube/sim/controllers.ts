// The controllers of a simulated cluster, as far as drains depend on them: workloads replace their pods, the scheduler
// places them, budgets count them, and deleted namespaces and nodes are cleaned up. They act immediately.
import { covers } from '../../domain/drain/budgets.ts';
import {
  hasCondition,
  type KubeNode,
  nameOf,
  type Pod,
  type PodDisruptionBudget,
  type ReplicaSet,
  selects,
} from '../../domain/kube/objects.ts';
import type { ObjectStore } from './store.ts';

export interface Actions {
  create(pod: Pod): void;
  deletePod(pod: Pod, gracePeriodSeconds?: number): void;
}

/** Runs all controllers once. Returns whether one of them changed something, which can concern the others. */
export function runControllers(store: ObjectStore, actions: Actions): boolean {
  const before = store.version;
  fillReplicaSets(store, actions);
  fillDaemonSets(store, actions);
  for (const pod of store.all('pods')) schedule(store, pod);
  for (const budget of store.all('poddisruptionbudgets')) count(store, budget);
  for (const { metadata } of store.all('namespaces'))
    if (metadata.deletionTimestamp !== undefined) emptyNamespace(store, actions, metadata.name);
  for (const pod of store.all('pods'))
    if (pod.spec?.nodeName !== undefined && store.get('nodes', { name: pod.spec.nodeName }) === undefined)
      actions.deletePod(pod, 0);
  return store.version !== before;
}

function isActive({ metadata, status }: Pod): boolean {
  return (
    metadata.deletionTimestamp === undefined && status?.phase !== 'Succeeded' && status?.phase !== 'Failed'
  );
}

function podsOwnedBy(store: ObjectStore, uid: string | undefined): readonly Pod[] {
  return store
    .all('pods')
    .filter(({ metadata }) => metadata.ownerReferences?.some((owner) => owner.uid === uid));
}

function fillReplicaSets(store: ObjectStore, actions: Actions): void {
  for (const set of store.all('replicasets')) {
    const missing = (set.spec?.replicas ?? 1) - podsOwnedBy(store, set.metadata.uid).filter(isActive).length;
    for (let index = 0; index < missing; index += 1)
      actions.create(podOf(set, 'ReplicaSet', `${set.metadata.name}-${store.version}`));
  }
}

function fillDaemonSets(store: ObjectStore, actions: Actions): void {
  for (const set of store.all('daemonsets')) {
    const owned = podsOwnedBy(store, set.metadata.uid);
    for (const node of store.all('nodes')) {
      const { name } = node.metadata;
      const pod = podOf(set, 'DaemonSet', `${set.metadata.name}-${store.version}`);
      if (!fits(pod, node) || owned.some(({ spec }) => spec?.nodeName === name)) continue;
      actions.create({ ...pod, spec: { ...pod.spec, nodeName: name } });
    }
  }
}

function podOf(set: ReplicaSet, kind: string, name: string): Pod {
  const { template } = set.spec ?? {};
  const owner = { apiVersion: 'apps/v1', kind, name: set.metadata.name, uid: set.metadata.uid ?? '' };
  return {
    metadata: {
      ...{ ...template?.metadata, name, namespace: set.metadata.namespace ?? 'default' },
      ownerReferences: [{ ...owner, controller: true }],
    },
    spec: { ...template?.spec },
  };
}

function fits({ spec }: Pod, { metadata }: KubeNode): boolean {
  return selects({ matchLabels: spec?.nodeSelector ?? {} }, metadata.labels);
}

function schedule(store: ObjectStore, pod: Pod): void {
  if (pod.spec?.nodeName !== undefined || !isActive(pod)) return;
  const used = (node: KubeNode) =>
    store.all('pods', { fieldSelector: `spec.nodeName=${node.metadata.name}` }).length;
  const [node] = store
    .all('nodes')
    .filter((one) => one.spec?.unschedulable !== true && hasCondition(one, 'Ready') && fits(pod, one))
    .toSorted((a, b) => used(a) - used(b));
  if (node !== undefined) store.put('pods', { ...pod, spec: { ...pod.spec, nodeName: node.metadata.name } });
}

function count(store: ObjectStore, budget: PodDisruptionBudget): void {
  const { spec = {}, status: old = {}, metadata } = budget;
  const pods = store
    .all('pods', { namespace: metadata.namespace ?? '' })
    .filter((pod) => covers(budget, pod));
  const booked = Object.entries(old.disruptedPods ?? {}).filter(([name]) =>
    pods.some((pod) => pod.metadata.name === name && pod.metadata.deletionTimestamp === undefined),
  );
  const isBooked = (pod: Pod) => booked.some(([name]) => name === pod.metadata.name);
  const healthy = pods.filter((pod) => isActive(pod) && hasCondition(pod, 'Ready') && !isBooked(pod));
  const expectedPods = expected(store, pods);
  const desiredHealthy =
    spec.maxUnavailable === undefined
      ? share(spec.minAvailable ?? 1, expectedPods)
      : Math.max(0, expectedPods - share(spec.maxUnavailable, expectedPods));
  const status = {
    ...{ expectedPods, desiredHealthy, currentHealthy: healthy.length },
    disruptionsAllowed: expectedPods === 0 ? 0 : Math.max(0, healthy.length - desiredHealthy),
    observedGeneration: metadata.generation ?? 1,
    disruptedPods: Object.fromEntries(booked),
  };
  if (!isEqual(old, status)) store.put('poddisruptionbudgets', { ...budget, status });
}

function isEqual(a: object, b: object): boolean {
  return Object.entries(b).every(
    ([key, value]) => JSON.stringify(value) === JSON.stringify((a as Readonly<Record<string, unknown>>)[key]),
  );
}

/** The number of pods that workloads are set to have; pods without one count as they are. */
function expected(store: ObjectStore, pods: readonly Pod[]): number {
  const owners = new Set<string>();
  let total = 0;
  for (const pod of pods) {
    const owner = pod.metadata.ownerReferences?.find(({ controller }) => controller === true);
    const set = store.all('replicasets').find(({ metadata }) => metadata.uid === owner?.uid);
    if (set === undefined) total += 1;
    else if (!owners.has(nameOf(set))) {
      owners.add(nameOf(set));
      total += set.spec?.replicas ?? 1;
    }
  }
  return total;
}

function share(value: number | string, total: number): number {
  if (typeof value === 'number') return value;
  return Math.ceil((Number.parseFloat(value) * total) / 100);
}

function emptyNamespace(store: ObjectStore, actions: Actions, name: string): void {
  const selection = { namespace: name };
  for (const resource of ['replicasets', 'daemonsets', 'poddisruptionbudgets'] as const)
    for (const object of store.all(resource, selection)) store.remove(resource, object);
  const pods = store.all('pods', selection);
  for (const pod of pods) if (pod.metadata.deletionTimestamp === undefined) actions.deletePod(pod);
  const namespace = store.get('namespaces', { name });
  if (pods.length === 0 && namespace !== undefined) store.remove('namespaces', namespace);
}
