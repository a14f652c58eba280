// Lets nodes with a bootstrap token of Imago request a certificate, and the controller manager sign it.
import type { ClusterRoleBinding } from '../../domain/kube/objects.ts';
import type { KubeApi, KubeCall } from '../../ports/kube/api.ts';

/** The group of the bootstrap tokens that Imago creates. */
const bootstrapGroup = 'system:bootstrappers:imago';

const signer = 'system:certificates.k8s.io:certificatesigningrequests';

function binding(name: string, role: string, group: string): ClusterRoleBinding {
  return {
    metadata: { name: `imago:${name}` },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role },
    subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: group }],
  };
}

const bindings = [
  binding('bootstrap', 'system:node-bootstrapper', bootstrapGroup),
  binding('approve', `${signer}:nodeclient`, bootstrapGroup),
  binding('renew', `${signer}:selfnodeclient`, 'system:nodes'),
];

/** A second call has no effect. */
export async function ensureJoinRights(api: KubeApi, call: KubeCall): Promise<void> {
  for (const one of bindings) {
    const known = await api.get('clusterrolebindings', { name: one.metadata.name }, call);
    if (known === undefined) await api.create('clusterrolebindings', one, call);
  }
}
