// Makes a node unschedulable, and schedulable again only if Imago made it unschedulable: the annotation names the owner,
// and the node's managed fields show whether someone else has set the field since.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { KubeNode } from '../../domain/kube/objects.ts';
import type { KubeApi, KubeCall } from '../../ports/kube/api.ts';
import type { CordonResult, UncordonResult } from '../../ports/kube/cluster.ts';
import { fieldManager } from '../client/client.ts';

const cordonAnnotation = 'imago.dev/cordoned-by';

const maxAttempts = 10;

export async function cordon(
  api: KubeApi,
  name: string,
  owner: string,
  call: KubeCall = {},
): Promise<CordonResult> {
  return change(api, name, call, (node) => {
    const uid = node.metadata.uid ?? '';
    const isOurs = node.metadata.annotations?.[cordonAnnotation] === owner;
    if (node.spec?.unschedulable === true) return { result: { uid, wasSchedulable: isOurs } };
    return {
      result: { uid, wasSchedulable: true },
      patch: {
        metadata: { annotations: { [cordonAnnotation]: owner } },
        spec: { unschedulable: true },
      },
    };
  });
}

export async function uncordon(
  api: KubeApi,
  name: string,
  { owner, uid }: { readonly owner: string; readonly uid: string },
  call: KubeCall = {},
): Promise<UncordonResult> {
  return change<UncordonResult>(api, name, call, (node) => {
    if (node.metadata.uid !== uid) return { result: 'replaced' };
    const isMarked = node.metadata.annotations?.[cordonAnnotation] === owner;
    const isCordoned = node.spec?.unschedulable === true;
    const unmark = { metadata: { annotations: { [cordonAnnotation]: null } } };
    if (!isCordoned) return { result: 'schedulable', ...(isMarked ? { patch: unmark } : {}) };
    if (!isMarked) return { result: 'kept' };
    if (!setByImago(node)) return { result: 'kept', patch: unmark };
    return { result: 'schedulable', patch: { ...unmark, spec: { unschedulable: null } } };
  });
}

/** Returns whether Imago was the last to set `spec.unschedulable`: others have the field if they set it again. */
function setByImago({ metadata: { managedFields = [] } }: KubeNode): boolean {
  return managedFields.some(({ manager, fieldsV1 }) => {
    const spec = fieldsV1?.['f:spec'];
    return manager === fieldManager && typeof spec === 'object' && spec !== null && 'f:unschedulable' in spec;
  });
}

interface Decision<T> {
  readonly result: T;
  readonly patch?: object;
}

/** Reads the node, decides, and writes only if the node is still as it was read. */
async function change<T>(
  api: KubeApi,
  name: string,
  call: KubeCall,
  decide: (node: KubeNode) => Decision<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    const node = await api.get('nodes', { name }, call);
    if (node === undefined)
      throw new ImagoError('node-not-found', `The cluster does not have a node named ${name}.`);
    const { result, patch } = decide(node);
    if (patch === undefined) return result;
    const { resourceVersion } = node.metadata;
    try {
      const written = await api.patch('nodes', { name }, patch, { ...call, resourceVersion });
      if (written !== undefined) return result;
    } catch (error) {
      const isConflict = error instanceof ImagoError && error.code === 'cluster-conflict';
      if (!isConflict || attempt >= maxAttempts) throw error;
    }
  }
}
