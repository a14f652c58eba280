// Makes a node unschedulable, and schedulable again only if Imago made it unschedulable: the annotation names the owner,
// and the node's managed fields show whether someone else has set the field since. Autoscalers keep away in that time.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { KubeNode } from '../../domain/kube/objects.ts';
import type { KubeApi, KubeCall } from '../../ports/kube/api.ts';
import type { CordonResult, UncordonResult } from '../../ports/kube/cluster.ts';
import { fieldManager } from '../client/client.ts';

const cordonAnnotation = 'imago.dev/cordoned-by';
/** The operation that works on the node, whether or not it cordoned it. */
const workAnnotation = 'imago.dev/in-work-by';
/** Which of `keepAway` Imago has added: those that were there before stay. */
const addedAnnotation = 'imago.dev/added-annotations';
/** As cluster-autoscaler and Karpenter read them. */
const keepAway = ['cluster-autoscaler.kubernetes.io/scale-down-disabled', 'karpenter.sh/do-not-disrupt'];

const maxAttempts = 10;

export async function cordon(
  api: KubeApi,
  name: string,
  owner: string,
  call: KubeCall = {},
): Promise<CordonResult> {
  return change(api, name, call, (node) => {
    const uid = node.metadata.uid ?? '';
    const { [cordonAnnotation]: cordoner, [workAnnotation]: worker } = node.metadata.annotations ?? {};
    const isOthers = worker !== undefined && worker !== owner;
    const isCordoned = node.spec?.unschedulable === true;
    const result = { uid, wasSchedulable: !isCordoned || cordoner === owner };
    if (isCordoned && worker !== undefined) return { result };
    const claimed = isOthers ? {} : claim(node, owner);
    const annotations = { ...claimed, ...(isCordoned ? {} : { [cordonAnnotation]: owner }) };
    return {
      result,
      patch: { metadata: { annotations }, ...(isCordoned ? {} : { spec: { unschedulable: true } }) },
    };
  });
}

function claim(
  { metadata: { annotations = {} } }: KubeNode,
  owner: string,
): Readonly<Record<string, string>> {
  const known = annotations[addedAnnotation]?.split(',') ?? [];
  const added = keepAway.filter((key) => known.includes(key) || annotations[key] === undefined);
  return {
    ...Object.fromEntries(added.map((key) => [key, 'true'])),
    ...{ [workAnnotation]: owner, [addedAnnotation]: added.join(',') },
  };
}

/** Removes what `claim` added, unless another operation works on the node now. */
function release(
  { metadata: { annotations = {} } }: KubeNode,
  owner: string,
): Readonly<Record<string, null>> {
  if (annotations[workAnnotation] !== owner) return {};
  const added = annotations[addedAnnotation]?.split(',').filter((key) => keepAway.includes(key)) ?? [];
  return Object.fromEntries([workAnnotation, addedAnnotation, ...added].map((key) => [key, null]));
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
    const annotations = { ...release(node, owner), ...(isMarked ? { [cordonAnnotation]: null } : {}) };
    const unmark = Object.keys(annotations).length === 0 ? {} : { patch: { metadata: { annotations } } };
    if (!isCordoned) return { result: 'schedulable', ...unmark };
    if (!isMarked || !setByImago(node)) return { result: 'kept', ...unmark };
    return { result: 'schedulable', patch: { metadata: { annotations }, spec: { unschedulable: null } } };
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
