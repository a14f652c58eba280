// What the drain suite needs of a cluster, and how it fills one. Everything goes through the API, so that the simulated
// cluster and a real API server are filled alike.
import { expect } from 'vitest';
import { hasCondition, type ObjectMeta, type Pod } from '../../../src/domain/kube/objects.ts';
import { clusterOf } from '../../../src/kube/cluster.ts';
import { kubeletAnnotations } from '../../../src/kube/sim/kubelet.ts';
import type { Clock } from '../../../src/ports/clock.ts';
import type { KubeApi } from '../../../src/ports/kube/api.ts';
import type { Cluster, DrainOptions } from '../../../src/ports/kube/cluster.ts';

export interface KubeLab {
  readonly api: KubeApi;
  /** Cordons or uncordons a node as an operator does with kubectl. */
  cordonAsOperator(node: string, isCordoned: boolean): Promise<void>;
  readonly clock: Clock;
  /** Virtual time does not pass while a test awaits conditions: this lets some of it pass. */
  pass(): Promise<void>;
  /** Waits until pods can be created in a new namespace. */
  settle?(namespace: string): Promise<void>;
  close(): Promise<void>;
}

export interface Scene {
  readonly lab: KubeLab;
  readonly cluster: Cluster;
  /** A namespace, and the prefix of the nodes, of this test alone. */
  readonly namespace: string;
  node(name: string): string;
  addNode(name: string): Promise<void>;
  addPod(pod: PodSpec): Promise<Pod>;
  /** Adds a ReplicaSet whose pods get the label `app: NAME`, and waits until they are ready. */
  addReplicaSet(name: string, replicas: number, annotations?: Annotations): Promise<void>;
  addDaemonSet(name: string): Promise<void>;
  addBudget(name: string, spec: object, app?: string): Promise<void>;
  pod(name: string): Promise<Pod | undefined>;
  /** The pods of a node in this test's namespace, by name. */
  podsOn(node: string): Promise<readonly Pod[]>;
  drain(node: string, options?: Partial<DrainOptions>): ReturnType<Cluster['drain']>;
  /** Waits until the condition holds. */
  until(condition: () => Promise<boolean>): Promise<void>;
}

type Annotations = Readonly<Record<string, string>>;

export interface PodSpec extends Partial<Pick<ObjectMeta, 'labels' | 'finalizers' | 'ownerReferences'>> {
  readonly name: string;
  readonly node: string;
  readonly annotations?: Annotations;
  readonly emptyDir?: boolean;
  /** Ends the pod with this phase. */
  readonly finished?: 'Succeeded' | 'Failed';
  readonly neverReady?: boolean;
  readonly neverTerminates?: boolean;
}

/** A controller that no one checks: kubectl only looks whether a pod has one. */
export const controlled = {
  ownerReferences: [
    { apiVersion: 'example.test/v1', kind: 'Thing', name: 'thing', uid: 'thing', controller: true },
  ],
};

const containers = [{ name: 'main', image: 'example.test/none:1' }];
let scenes = 0;

export async function makeScene(lab: KubeLab): Promise<Scene> {
  scenes += 1;
  const { api, clock, pass } = lab;
  const namespace = `drain-${process.pid}-${scenes}`;
  const node = (name: string) => `${namespace}-${name}`;
  const cluster = clusterOf(api, clock);
  await api.create('namespaces', { metadata: { name: namespace } });
  await lab.settle?.(namespace);

  async function until(condition: () => Promise<boolean>): Promise<void> {
    await expect
      .poll(async () => {
        await pass();
        return condition();
      })
      .toBe(true);
  }

  const scene: Scene = {
    ...{ lab, cluster, namespace, node, until },
    async addNode(name) {
      await api.create('nodes', {
        metadata: { name: node(name), labels: { scene: namespace, 'kubernetes.io/hostname': node(name) } },
      });
      await until(async () => {
        const found = await api.get('nodes', { name: node(name) });
        const taints = found?.spec?.taints ?? [];
        if (taints.length > 0) await api.patch('nodes', { name: node(name) }, { spec: { taints: null } });
        return found !== undefined && taints.length === 0 && hasCondition(found, 'Ready');
      });
    },
    async addPod({ name, node: on, emptyDir, finished, neverReady, neverTerminates, ...metadata }) {
      const annotations = {
        ...metadata.annotations,
        ...(neverReady === true ? { [kubeletAnnotations.ready]: 'never' } : {}),
        ...(neverTerminates === true ? { [kubeletAnnotations.terminate]: 'never' } : {}),
      };
      await api.create('pods', {
        metadata: { ...metadata, name, namespace, annotations },
        spec: {
          ...{ nodeName: node(on), containers },
          ...(emptyDir === true ? { volumes: [{ name: 'scratch', emptyDir: {} }] } : {}),
        },
      });
      await until(async () => (await scene.pod(name))?.status?.phase === 'Running');
      if (finished !== undefined)
        await api.patch(
          'pods',
          { namespace, name },
          { status: { phase: finished } },
          { subresource: 'status' },
        );
      return (await scene.pod(name)) as Pod;
    },
    async addReplicaSet(name, replicas, annotations = {}) {
      const labels = { app: name };
      await api.create('replicasets', {
        metadata: { name, namespace },
        spec: {
          replicas,
          selector: { matchLabels: labels },
          template: { metadata: { labels, annotations }, spec: templateSpec() },
        },
      });
      await until(async () => (await ready(name)) === replicas);
    },
    async addDaemonSet(name) {
      const labels = { app: name };
      await api.create('daemonsets', {
        metadata: { name, namespace },
        spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: templateSpec() } },
      });
      const nodes = async () =>
        (await api.list('nodes', { labelSelector: `scene=${namespace}` })).items.length;
      await until(async () => (await ready(name)) >= (await nodes()));
    },
    async addBudget(name, spec, app = name) {
      await api.create('poddisruptionbudgets', {
        metadata: { name, namespace },
        spec: { selector: { matchLabels: { app } }, ...spec },
      });
      await until(async () => {
        const found = await api.get('poddisruptionbudgets', { namespace, name });
        return (found?.status?.observedGeneration ?? 0) >= 1 && (found?.status?.expectedPods ?? 0) > 0;
      });
    },
    pod: (name) => api.get('pods', { namespace, name }),
    async podsOn(name) {
      const selection = { namespace, fieldSelector: `spec.nodeName=${node(name)}` };
      return (await api.list('pods', selection)).items;
    },
    drain: (name, options = {}) => cluster.drain(node(name), { timeoutMs: 60_000, retryMs: 500, ...options }),
  };

  const templateSpec = () => ({ containers, nodeSelector: { scene: namespace } });

  async function ready(app: string): Promise<number> {
    const { items } = await api.list('pods', { namespace, labelSelector: `app=${app}` });
    return items.filter((pod) => hasCondition(pod, 'Ready') && pod.metadata.deletionTimestamp === undefined)
      .length;
  }
  return scene;
}
