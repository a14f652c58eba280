// The part of the Kubernetes API that Imago uses. Real API servers and the simulated cluster implement it, so that
// cordon, drain, and watch exist once.
import type { Right } from '../../domain/cluster/record.ts';
import type {
  ClusterRoleBinding,
  DaemonSet,
  KubeNode,
  KubeObject,
  Pod,
  PodDisruptionBudget,
  ReplicaSet,
  Secret,
  Status,
} from '../../domain/kube/objects.ts';

/** The resources by their names in the API. */
export interface KubeResources {
  readonly nodes: KubeNode;
  readonly pods: Pod;
  readonly daemonsets: DaemonSet;
  readonly replicasets: ReplicaSet;
  readonly poddisruptionbudgets: PodDisruptionBudget;
  readonly namespaces: KubeObject;
  readonly secrets: Secret;
  readonly clusterrolebindings: ClusterRoleBinding;
}

export type KubeResource = keyof KubeResources;

export interface ObjectName {
  /** Absent for resources that are not in a namespace. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

export interface KubeCall {
  readonly signal?: AbortSignal | undefined;
}

export interface Selection extends KubeCall {
  /** Defaults to all namespaces. */
  readonly namespace?: string;
  readonly fieldSelector?: string;
  readonly labelSelector?: string;
}

export interface ObjectList<T> {
  readonly items: readonly T[];
  /** The state of the cluster that the list shows: a watch continues from it. */
  readonly resourceVersion: string;
}

export interface DeleteOptions extends KubeCall {
  /** Deletes only the object with this uid. */
  readonly uid?: string | undefined;
  /** Defaults to the pod's own grace period. */
  readonly gracePeriodSeconds?: number | undefined;
}

export interface PatchOptions extends KubeCall {
  /** Throws `cluster-conflict` if the object has changed since it had this version. */
  readonly resourceVersion?: string | undefined;
  readonly subresource?: 'status';
}

export type WatchEvent<T> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly object: T }
  /** Only a newer `metadata.resourceVersion` to resume from. */
  | { readonly type: 'BOOKMARK'; readonly object: T }
  /** The server no longer has the requested resource version: list again. The stream ends. */
  | { readonly type: 'EXPIRED' };

export interface WatchOptions extends Selection {
  readonly resourceVersion: string;
}

export interface Discovery {
  /** The server's version, such as `v1.36.3`. */
  readonly version: string;
  /** `policy/v1`, `policy/v1beta1`, or `undefined` if pods can only be deleted. */
  readonly evictionVersion: string | undefined;
}

/**
 * Every call has a deadline of its own, and repeats what a lost connection, an overloaded server, or a restarting one
 * interrupted, if a second call has no further effect. Throws `cluster-unreachable`, `cluster-unauthorized`,
 * `cluster-forbidden` with the missing verb and resource, or `cluster-request-failed`.
 */
export interface KubeApi {
  /** Throws `cluster-version-unsupported` for servers that are too old. The result is cached. */
  discover(call?: KubeCall): Promise<Discovery>;
  /** Returns `undefined` if the object does not exist. */
  get<R extends KubeResource>(
    resource: R,
    name: ObjectName,
    call?: KubeCall,
  ): Promise<KubeResources[R] | undefined>;
  /** Reads all pages. */
  list<R extends KubeResource>(resource: R, selection?: Selection): Promise<ObjectList<KubeResources[R]>>;
  /** Throws `cluster-conflict` if the object exists. */
  create<R extends KubeResource>(
    resource: R,
    object: KubeResources[R],
    call?: KubeCall,
  ): Promise<KubeResources[R]>;
  /** Applies a JSON merge patch. Returns `undefined` if the object does not exist. */
  patch<R extends KubeResource>(
    resource: R,
    name: ObjectName,
    patch: object,
    options?: PatchOptions,
  ): Promise<KubeResources[R] | undefined>;
  /** Starts to delete an object. Has no effect if it does not exist or has another uid. */
  delete(resource: KubeResource, name: ObjectName, options?: DeleteOptions): Promise<void>;
  /** Sends one eviction and returns the response, whatever it is. Only a missing response is an error. */
  evict(pod: ObjectName, options?: DeleteOptions): Promise<Status>;
  /** Returns whether the credentials allow it in all namespaces, as the server decides it. */
  allows(right: Right, call?: KubeCall): Promise<boolean>;
  /** One watch connection: ends when the server closes it. */
  watch<R extends KubeResource>(
    resource: R,
    options: WatchOptions,
  ): AsyncIterable<WatchEvent<KubeResources[R]>>;
}
