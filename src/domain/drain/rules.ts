// Decides which pods leave a node, by the rules of `kubectl drain`. Nothing is evicted if one pod is refused.
import { nameOf, type Pod, type Status } from '../kube/objects.ts';

export interface DrainRules {
  /** Evicts pods without a controller, which nothing creates again. Defaults to `false`. */
  readonly force?: boolean;
  /** Leaves DaemonSet pods in place instead of refusing the drain. Defaults to `false`. */
  readonly ignoreDaemonSets?: boolean;
  /** Evicts pods that lose the data of an emptyDir volume. Defaults to `false`. */
  readonly deleteEmptyDirData?: boolean;
  /** Does not wait for pods that have been terminating for longer than this. Defaults to waiting for all of them. */
  readonly skipTerminatingAfterSeconds?: number;
}

/** Whether the DaemonSet that controls a pod exists, or why that is not known. */
export type DaemonSetState = 'present' | 'missing' | { readonly unknown: string };

export interface PodDecision {
  readonly pod: Pod;
  /** `refuse` stops the entire drain before anything is evicted. */
  readonly action: 'evict' | 'keep' | 'refuse';
  /** Why the pod is refused or kept, or what its eviction costs. */
  readonly reasons: readonly string[];
}

export interface DrainPlan {
  readonly evict: readonly PodDecision[];
  readonly keep: readonly PodDecision[];
  readonly refuse: readonly PodDecision[];
}

type Filter = (pod: Pod, context: FilterContext) => Omit<PodDecision, 'pod'>;

interface FilterContext {
  readonly rules: DrainRules;
  readonly daemonSets: ReadonlyMap<string, DaemonSetState>;
  readonly now: number;
}

const evict = (...reasons: string[]) => ({ action: 'evict', reasons }) as const;
const keep = (...reasons: string[]) => ({ action: 'keep', reasons }) as const;
const refuse = (...reasons: string[]) => ({ action: 'refuse', reasons }) as const;

/** In kubectl's order. The first filter that does not evict decides. */
const filters: readonly Filter[] = [skipTerminating, daemonSet, mirror, localStorage, unmanaged];

/** Returns the decision about every pod. `daemonSets` is keyed by `daemonSetOf`. */
export function planDrain(
  pods: readonly Pod[],
  rules: DrainRules,
  daemonSets: ReadonlyMap<string, DaemonSetState>,
  now: number,
): DrainPlan {
  const decisions = pods.map((pod) => decide(pod, { rules, daemonSets, now }));
  const of = (action: PodDecision['action']) => decisions.filter((decision) => decision.action === action);
  return { evict: of('evict'), keep: of('keep'), refuse: of('refuse') };
}

function decide(pod: Pod, context: FilterContext): PodDecision {
  const reasons: string[] = [];
  for (const filter of filters) {
    const { action, reasons: found } = filter(pod, context);
    if (action !== 'evict') return { pod, action, reasons: found };
    reasons.push(...found);
  }
  return { pod, action: 'evict', reasons };
}

/** Returns the `NAMESPACE/NAME` of the DaemonSet that controls the pod, or `undefined`. */
export function daemonSetOf(pod: Pod): string | undefined {
  const owner = controllerOf(pod);
  if (owner?.kind !== 'DaemonSet' || owner.apiVersion !== 'apps/v1') return undefined;
  return `${pod.metadata.namespace}/${owner.name}`;
}

function controllerOf({ metadata }: Pod) {
  return metadata.ownerReferences?.find(({ controller }) => controller === true);
}

function isFinished({ status }: Pod): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed';
}

function skipTerminating({ metadata }: Pod, { rules, now }: FilterContext) {
  const limit = rules.skipTerminatingAfterSeconds ?? 0;
  if (limit <= 0 || metadata.deletionTimestamp === undefined) return evict();
  const seconds = Math.trunc((now - Date.parse(metadata.deletionTimestamp)) / 1000);
  return seconds > limit ? keep(`has been terminating for ${seconds} s`) : evict();
}

function daemonSet(pod: Pod, { rules, daemonSets }: FilterContext) {
  const name = daemonSetOf(pod);
  if (name === undefined || isFinished(pod)) return evict();
  const state = daemonSets.get(name) ?? 'present';
  if (state === 'missing') {
    const reason = `its DaemonSet ${name} does not exist`;
    return rules.force === true ? evict(reason) : refuse(`${reason} (force evicts it)`);
  }
  if (state !== 'present') return refuse(`its DaemonSet ${name} could not be read: ${state.unknown}`);
  if (rules.ignoreDaemonSets !== true)
    return refuse(`is managed by the DaemonSet ${name} (ignoreDaemonSets keeps it)`);
  return keep(`is managed by the DaemonSet ${name}`);
}

function mirror({ metadata }: Pod) {
  const isMirror = metadata.annotations?.['kubernetes.io/config.mirror'] !== undefined;
  return isMirror ? keep('is a static pod of the node') : evict();
}

function localStorage(pod: Pod, { rules }: FilterContext) {
  const volumes = pod.spec?.volumes?.filter(({ emptyDir }) => emptyDir !== undefined) ?? [];
  if (volumes.length === 0 || isFinished(pod)) return evict();
  const reason = `has data in emptyDir ${volumes.map(({ name }) => name).join(', ')}`;
  return rules.deleteEmptyDirData === true
    ? evict(reason)
    : refuse(`${reason} (deleteEmptyDirData deletes it)`);
}

function unmanaged(pod: Pod, { rules }: FilterContext) {
  if (isFinished(pod) || controllerOf(pod) !== undefined) return evict();
  const reason = 'has no controller that would create it again';
  return rules.force === true ? evict(reason) : refuse(`${reason} (force evicts it)`);
}

/** Returns the refused pods with their reasons as one message. */
export function describeRefusals(refused: readonly PodDecision[]): string {
  return refused.map(({ pod, reasons }) => `${nameOf(pod)} ${reasons.join(', ')}`).join('; ');
}

export interface EvictionResult {
  /** `accepted`: the pod terminates. `gone`: it does not exist. `later`: send it again. `failed`: no retry helps. */
  readonly kind: 'accepted' | 'gone' | 'later' | 'failed';
  readonly reason: string;
}

/** Classifies the API server's response to an eviction. */
export function readEviction(status: Status, isTerminating: boolean): EvictionResult {
  const code = status.code ?? 500;
  const causes = status.details?.causes ?? [];
  const details = causes.flatMap(({ message }) => message ?? []);
  const reason = [status.message ?? `status ${code}`, ...details].join(' ');
  if (code < 300) return { kind: 'accepted', reason };
  if (code === 404) return { kind: 'gone', reason };
  // The pod's uid is a precondition: a conflict means that another pod has its name, or that it was modified.
  if (code === 429 || code === 409) return { kind: 'later', reason };
  if (code === 403 && causes.some((cause) => cause.reason === 'NamespaceTerminating'))
    return { kind: isTerminating ? 'accepted' : 'later', reason };
  return { kind: 'failed', reason };
}
