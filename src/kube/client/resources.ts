// Where the API server has each resource.
import type { KubeResource, ObjectName } from '../../ports/kube/api.ts';

interface ResourcePath {
  readonly apiVersion: string;
  readonly kind: string;
}

export const resources = {
  nodes: { apiVersion: 'v1', kind: 'Node' },
  namespaces: { apiVersion: 'v1', kind: 'Namespace' },
  pods: { apiVersion: 'v1', kind: 'Pod' },
  secrets: { apiVersion: 'v1', kind: 'Secret' },
  replicasets: { apiVersion: 'apps/v1', kind: 'ReplicaSet' },
  daemonsets: { apiVersion: 'apps/v1', kind: 'DaemonSet' },
  clusterrolebindings: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding' },
  poddisruptionbudgets: { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget' },
} as const satisfies Record<KubeResource, ResourcePath>;

/** Returns the path of one object, or of a list if there is no name. Names are escaped. */
export function pathOf(resource: KubeResource, { namespace, name }: Partial<ObjectName> = {}): string {
  const { apiVersion } = resources[resource];
  const parts = [
    ...(namespace === undefined ? [] : ['namespaces', namespace]),
    resource,
    ...(name === undefined ? [] : [name]),
  ];
  const root = apiVersion === 'v1' ? '/api/v1' : `/apis/${apiVersion}`;
  return `${root}/${parts.map(encodeURIComponent).join('/')}`;
}
