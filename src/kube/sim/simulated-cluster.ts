// A Kubernetes cluster in memory and in virtual time, for simulated pools and for tests: nodes, pods, budgets,
// evictions, and watches behave as on a real API server. The same drain suite runs over both.
import { covers, leavesUnhealthy } from '../../domain/drain/budgets.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { KubeNode, Pod, PodDisruptionBudget, Status } from '../../domain/kube/objects.ts';
import type { Clock } from '../../ports/clock.ts';
import type {
  DeleteOptions,
  KubeApi,
  KubeResource,
  KubeResources,
  ObjectName,
  PatchOptions,
} from '../../ports/kube/api.ts';
import { runControllers } from './controllers.ts';
import { type KeptObjects, objectStore } from './store.ts';

export interface SimulatedCluster {
  /** Returns the API as one writer uses it, whose name appears in the managed fields. */
  apiAs(manager: string): KubeApi;
  /** Forgets the history of changes, so that watches expire. */
  compact(): void;
}

const defaultGraceSeconds = 30;

/** Without `kept`, its objects are lost with the process. */
export function simulateCluster(clock: Clock, kept?: KeptObjects, version = 'v1.36.3'): SimulatedCluster {
  const store = objectStore(kept);
  let made = 0;
  let isReconciling = false;

  const now = () => new Date(clock.now()).toISOString();

  function reconcile(): void {
    if (isReconciling) return;
    isReconciling = true;
    try {
      while (runControllers(store, { create: (pod) => void create('pods', pod), deletePod }));
    } finally {
      isReconciling = false;
    }
  }

  function create<R extends KubeResource>(resource: R, object: KubeResources[R]): KubeResources[R] {
    const { metadata } = object;
    if (store.get(resource, metadata) !== undefined)
      throw new ImagoError('cluster-conflict', `${resource} "${metadata.name}" already exists`);
    made += 1;
    const uid = `uid-${clock.now()}-${made}`;
    const complete = { ...metadata, uid, creationTimestamp: now(), generation: 1 };
    const status = resource === 'pods' ? { status: { phase: 'Pending' } } : {};
    const stored = store.put(resource, { ...status, ...object, metadata: complete });
    reconcile();
    return store.get(resource, stored.metadata) ?? stored;
  }

  function write<R extends KubeResource>(
    resource: R,
    name: ObjectName,
    patch: object,
    manager: string,
    { resourceVersion, subresource }: PatchOptions,
  ): KubeResources[R] | undefined {
    const old = store.get(resource, name);
    if (old === undefined) return undefined;
    if (resourceVersion !== undefined && resourceVersion !== old.metadata.resourceVersion)
      throw new ImagoError('cluster-conflict', `${resource} "${name.name}": the object has been modified`);
    const merged = merge(old, patch) as KubeResources[R];
    const isChanged = subresource === undefined && JSON.stringify(merged) !== JSON.stringify(old);
    const generation =
      (old.metadata.generation ?? 1) + (isChanged && resource === 'poddisruptionbudgets' ? 1 : 0);
    const managed = resource === 'nodes' ? managedFields(old as KubeNode, merged as KubeNode, manager) : {};
    store.put(resource, { ...merged, metadata: { ...merged.metadata, generation, ...managed } });
    const pod = resource === 'pods' ? store.get('pods', name) : undefined;
    if (pod !== undefined && isReleased(pod)) store.remove('pods', pod);
    reconcile();
    return store.get(resource, name) ?? merged;
  }

  function deletePod(pod: Pod, gracePeriodSeconds?: number): void {
    const { phase } = pod.status ?? {};
    const isIdle = pod.spec?.nodeName === undefined || phase === 'Succeeded' || phase === 'Failed';
    const grace = isIdle
      ? 0
      : (gracePeriodSeconds ?? pod.spec?.terminationGracePeriodSeconds ?? defaultGraceSeconds);
    const { deletionGracePeriodSeconds: running } = pod.metadata;
    if (running !== undefined && running <= grace) return;
    const until = new Date(clock.now() + grace * 1000).toISOString();
    const metadata = { ...pod.metadata, deletionTimestamp: until, deletionGracePeriodSeconds: grace };
    const marked = { ...pod, metadata };
    if (isReleased(marked)) store.remove('pods', marked);
    else store.put('pods', marked);
    reconcile();
  }

  function remove<R extends KubeResource>(resource: R, name: ObjectName, options: DeleteOptions): void {
    const object = store.get(resource, name);
    if (object === undefined) return;
    if (options.uid !== undefined && object.metadata.uid !== options.uid) return;
    if (resource === 'pods') deletePod(object as Pod, options.gracePeriodSeconds);
    else if (resource === 'namespaces')
      store.put(resource, { ...object, metadata: { ...object.metadata, deletionTimestamp: now() } });
    else store.remove(resource, object);
    reconcile();
  }

  function evict(name: ObjectName, { uid, gracePeriodSeconds }: DeleteOptions): Status {
    const pod = store.get('pods', name);
    if (pod === undefined) return status(404, `pods "${name.name}" not found`);
    const namespace = store.get('namespaces', { name: name.namespace ?? '' });
    if (namespace?.metadata.deletionTimestamp !== undefined)
      return status(403, `namespace ${name.namespace} is being terminated`, 'NamespaceTerminating');
    if (uid !== undefined && pod.metadata.uid !== uid)
      return status(409, `the UID in the precondition (${uid}) does not match`);
    const refused = pod.status?.phase === 'Running' ? spendBudget(pod) : undefined;
    if (refused !== undefined) return refused;
    const current = store.get('pods', name);
    if (current !== undefined) deletePod(current, gracePeriodSeconds);
    return status(201, 'evicted');
  }

  /** Books the disruption, or returns why the budget refuses it. */
  function spendBudget(pod: Pod): Status | undefined {
    if (pod.metadata.deletionTimestamp !== undefined) return undefined;
    const [budget, second] = store.all('poddisruptionbudgets').filter((one) => covers(one, pod));
    if (second !== undefined)
      return status(
        500,
        'This pod has more than one PodDisruptionBudget, which the eviction API does not support.',
      );
    if (budget === undefined || leavesUnhealthy(pod, budget)) return undefined;
    const {
      disruptionsAllowed = 0,
      disruptedPods = {},
      desiredHealthy,
      currentHealthy,
    } = budget.status ?? {};
    const { name } = budget.metadata;
    const why = `The disruption budget ${name} needs ${desiredHealthy} healthy pods and has ${currentHealthy} currently`;
    if (disruptionsAllowed <= 0)
      return status(
        429,
        "Cannot evict pod as it would violate the pod's disruption budget.",
        'DisruptionBudget',
        why,
      );
    const booked: PodDisruptionBudget['status'] = {
      ...{ ...budget.status, disruptionsAllowed: disruptionsAllowed - 1 },
      disruptedPods: { ...disruptedPods, [pod.metadata.name]: now() },
    };
    store.put('poddisruptionbudgets', { ...budget, status: booked });
    return undefined;
  }

  return {
    compact: () => store.compact(),
    apiAs: (manager) => ({
      discover: async () => ({ version, evictionVersion: 'policy/v1' }),
      get: async (resource, name) => store.get(resource, name),
      list: async (resource, selection) => ({
        items: store.all(resource, selection),
        resourceVersion: store.version,
      }),
      create: async (resource, object) => create(resource, object),
      patch: async (resource, name, patch, options = {}) => write(resource, name, patch, manager, options),
      delete: async (resource, name, options = {}) => remove(resource, name, options),
      evict: async (pod, options = {}) => evict(pod, options),
      allows: async () => true,
      watch: (resource, options) => store.watch(resource, options),
    }),
  };
}

/** A pod is removed when its grace period is over and no finalizer holds it. */
function isReleased({ metadata }: Pod): boolean {
  return metadata.deletionGracePeriodSeconds === 0 && (metadata.finalizers ?? []).length === 0;
}

function status(code: number, message: string, cause?: string, causeMessage?: string): Status {
  if (cause === undefined) return { code, message };
  const causes = [{ reason: cause, ...(causeMessage === undefined ? {} : { message: causeMessage }) }];
  return { code, message, details: { causes } };
}

/** Only for the field that cordons: the last writer that changed it has it. */
function managedFields(
  old: KubeNode,
  merged: KubeNode,
  manager: string,
): Pick<KubeNode['metadata'], 'managedFields'> {
  if (merged.spec?.unschedulable !== true) return { managedFields: [] };
  if (old.spec?.unschedulable === true) return {};
  return { managedFields: [{ manager, fieldsV1: { 'f:spec': { 'f:unschedulable': {} } } }] };
}

function merge(old: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const base = typeof old === 'object' && old !== null && !Array.isArray(old) ? old : {};
  const result: Record<string, unknown> = { ...base };
  for (const [key, value] of Object.entries(patch))
    if (value === null) delete result[key];
    else result[key] = merge(result[key], value);
  return result;
}
