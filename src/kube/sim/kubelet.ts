// Acts as the kubelet of every node: pods become ready, and terminate when they are deleted. It works over the API, so
// that it serves the simulated cluster and a real API server without machines alike.
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import { hasCondition, type KubeNode, type Pod } from '../../domain/kube/objects.ts';
import type { Clock } from '../../ports/clock.ts';
import type { KubeApi, KubeResources } from '../../ports/kube/api.ts';
import { follow } from '../follow.ts';

/** Annotations of a pod that change what happens to it. */
export const kubeletAnnotations = {
  /** `never`: the pod runs, but does not become ready. */
  ready: 'sim.imago.dev/ready',
  /** `never`, or the milliseconds that termination takes. Defaults to 100. */
  terminate: 'sim.imago.dev/terminate',
} as const;

const defaultTerminationMs = 100;

export interface Kubelet {
  /** Stops it, and returns when it has stopped. Throws its first error. */
  stop(): Promise<void>;
}

/** With `pods` only, something else reports the state of nodes. */
export function startKubelet(
  api: KubeApi,
  clock: Clock,
  serves: 'pods' | 'nodes and pods' = 'nodes and pods',
): Kubelet {
  const abort = new AbortController();
  const { signal } = abort;
  const seen = new Set<string>();
  const pending = new Set<Promise<void>>();
  const failures: unknown[] = [];
  const time = () => new Date(clock.now()).toISOString();

  async function serveNode(node: KubeNode): Promise<void> {
    if (hasCondition(node, 'Ready')) return;
    const { name } = node.metadata;
    const ready = { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'simulated' };
    const conditions = [{ ...ready, lastHeartbeatTime: time(), lastTransitionTime: time() }];
    const room = { pods: '110', cpu: '4', memory: '8Gi' };
    const patch = { status: { conditions, capacity: room, allocatable: room } };
    await api.patch('nodes', { name }, patch, { subresource: 'status', signal });
  }

  async function servePod(pod: Pod): Promise<void> {
    const { namespace, name, uid, annotations = {}, deletionTimestamp } = pod.metadata;
    if (pod.spec?.nodeName === undefined) return;
    if (deletionTimestamp !== undefined) return terminate(pod);
    if ((pod.status?.phase ?? 'Pending') !== 'Pending' || isRepeated(`start ${uid}`)) return;
    const isReady = annotations[kubeletAnnotations.ready] !== 'never';
    const conditions = ['PodScheduled', 'Initialized', 'ContainersReady', 'Ready'].map((type) => ({
      type,
      status: isReady || !type.endsWith('Ready') ? 'True' : 'False',
      lastTransitionTime: time(),
    }));
    await api.patch(
      'pods',
      { namespace, name },
      { status: { phase: 'Running', conditions } },
      {
        ...{ subresource: 'status', signal },
      },
    );
  }

  async function terminate({ metadata: { namespace, name, uid, annotations = {} } }: Pod): Promise<void> {
    const wanted = annotations[kubeletAnnotations.terminate];
    if (wanted === 'never' || isRepeated(`end ${uid}`)) return;
    await clock.sleep(wanted === undefined ? defaultTerminationMs : Number(wanted), signal);
    await api.delete('pods', { namespace, name }, { uid, gracePeriodSeconds: 0, signal });
  }

  function isRepeated(key: string): boolean {
    const isKnown = seen.has(key);
    seen.add(key);
    return isKnown;
  }

  function start(work: Promise<void>): void {
    const task = work
      .catch((thrown: unknown) => {
        // An object that changed in the meantime is served by its next event.
        if (!signal.aborted && ensureImagoError(thrown).code !== 'cluster-conflict') failures.push(thrown);
      })
      .finally(() => pending.delete(task));
    pending.add(task);
  }

  async function serve<R extends 'nodes' | 'pods'>(
    resource: R,
    one: (object: KubeResources[R]) => Promise<void>,
  ): Promise<void> {
    for await (const change of follow(api, clock, resource, { signal })) {
      if (change.type === 'list') for (const object of change.items) start(one(object));
      else if (change.type !== 'deleted') start(one(change.object));
    }
  }

  const loops = Promise.all([
    ...(serves === 'pods' ? [] : [serve('nodes', serveNode)]),
    serve('pods', servePod),
  ]);
  loops.catch(() => undefined);
  return {
    async stop() {
      abort.abort();
      await loops;
      await Promise.all(pending);
      if (failures.length > 0) throw failures[0];
    },
  };
}
