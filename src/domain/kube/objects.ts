// The fields of Kubernetes objects that Imago reads or writes, as the API server sends them. Types only: what a server
// adds is passed through unread.

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
}

/** Which writer set which fields. */
export interface ManagedFields {
  readonly manager?: string;
  readonly fieldsV1?: Readonly<Record<string, unknown>>;
}

export interface ObjectMeta {
  readonly name: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly managedFields?: readonly ManagedFields[];
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
}

export interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastHeartbeatTime?: string;
  readonly lastTransitionTime?: string;
}

export interface KubeNode extends KubeObject {
  readonly spec?: {
    readonly unschedulable?: boolean;
    readonly providerID?: string;
    readonly podCIDR?: string;
    readonly taints?: readonly { readonly key: string; readonly value?: string; readonly effect: string }[];
  };
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly nodeInfo?: { readonly kubeletVersion?: string; readonly bootID?: string };
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
  };
}

export interface Pod extends KubeObject {
  readonly spec?: {
    readonly nodeName?: string;
    readonly nodeSelector?: Readonly<Record<string, string>>;
    readonly terminationGracePeriodSeconds?: number;
    readonly volumes?: readonly { readonly name: string; readonly emptyDir?: object }[];
    readonly containers?: readonly { readonly name: string; readonly image?: string }[];
  };
  readonly status?: { readonly phase?: string; readonly conditions?: readonly Condition[] };
}

export interface LabelSelector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly {
    readonly key: string;
    readonly operator: string;
    readonly values?: readonly string[];
  }[];
}

export interface PodDisruptionBudget extends KubeObject {
  readonly spec?: {
    readonly selector?: LabelSelector;
    readonly minAvailable?: number | string;
    readonly maxUnavailable?: number | string;
    readonly unhealthyPodEvictionPolicy?: string;
  };
  readonly status?: {
    readonly observedGeneration?: number;
    readonly disruptionsAllowed?: number;
    readonly currentHealthy?: number;
    readonly desiredHealthy?: number;
    readonly expectedPods?: number;
    readonly disruptedPods?: Readonly<Record<string, string>>;
  };
}

export interface DaemonSet extends KubeObject {
  readonly spec?: Omit<NonNullable<ReplicaSet['spec']>, 'replicas'>;
}

/** A workload that replaces its pods. */
export interface ReplicaSet extends KubeObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly selector?: LabelSelector;
    readonly template?: Pick<Pod, 'spec'> & { readonly metadata?: Partial<ObjectMeta> };
  };
}

export interface Secret extends KubeObject {
  readonly type?: string;
  readonly stringData?: Readonly<Record<string, string>>;
}

export interface ClusterRoleBinding extends KubeObject {
  readonly roleRef: { readonly apiGroup: string; readonly kind: string; readonly name: string };
  readonly subjects: readonly {
    readonly apiGroup: string;
    readonly kind: string;
    readonly name: string;
  }[];
}

/** The body of an error response, and of some successful ones. */
export interface Status {
  readonly code?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly details?: {
    readonly retryAfterSeconds?: number;
    readonly causes?: readonly { readonly reason?: string; readonly message?: string }[];
  };
}

/** Returns whether the condition is present and `True`. */
export function hasCondition(object: KubeNode | Pod, type: string): boolean {
  return object.status?.conditions?.some((one) => one.type === type && one.status === 'True') === true;
}

/** Returns the name as people write it: `NAMESPACE/NAME`, or `NAME` if it is not in a namespace. */
export function nameOf({ metadata: { namespace, name } }: KubeObject): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/** Returns whether a selector selects these labels. An empty selector selects everything. */
export function selects(selector: LabelSelector, labels: Readonly<Record<string, string>> = {}): boolean {
  const exact = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return exact && (selector.matchExpressions ?? []).every((expression) => matches(expression, labels));
}

function matches(
  { key, operator, values = [] }: NonNullable<LabelSelector['matchExpressions']>[number],
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = labels[key];
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    default:
      return false;
  }
}
