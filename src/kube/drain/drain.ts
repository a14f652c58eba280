// Empties a node by kubectl's rules. One loop lists the node's pods once per pass, whatever their number, and sends the
// evictions that are due; it survives an API server that is away until the deadline.
import { throwIfAborted } from '../../async/abort.ts';
import { covers, findBlockers } from '../../domain/drain/budgets.ts';
import {
  type DaemonSetState,
  type DrainPlan,
  type DrainRules,
  daemonSetOf,
  describeRefusals,
  planDrain,
  readEviction,
} from '../../domain/drain/rules.ts';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { nameOf, type Pod } from '../../domain/kube/objects.ts';
import type { Clock } from '../../ports/clock.ts';
import type { KubeApi, KubeCall } from '../../ports/kube/api.ts';
import type { DrainOptions, DrainPreview, DrainResult } from '../../ports/kube/cluster.ts';

export interface DrainContext {
  readonly api: KubeApi;
  readonly clock: Clock;
}

const passMs = 500;
const kubectlRetryMs = 5_000;

/** A pod that leaves, from the plan until it no longer exists. */
interface Leaving {
  readonly pod: Pod;
  state: 'pending' | 'accepted' | 'failed';
  /** When the next eviction is due. */
  dueAt: number;
  reason: string;
}

export async function previewDrain(
  { api, clock }: DrainContext,
  node: string,
  rules: DrainRules & KubeCall,
): Promise<DrainPreview> {
  const pods = await podsOf(api, node, rules);
  const plan = await makePlan(api, pods, rules, clock.now());
  const leaving = plan.evict.map(({ pod }) => pod);
  const { items } = await api.list('poddisruptionbudgets', { signal: rules.signal });
  const relevant = items.filter((budget) => leaving.some((pod) => covers(budget, pod)));
  return { plan, blockers: findBlockers(leaving, relevant) };
}

export async function podsLeft(
  { api, clock }: DrainContext,
  node: string,
  rules: DrainRules & KubeCall,
): Promise<readonly Pod[]> {
  const { evict, refuse } = await makePlan(api, await podsOf(api, node, rules), rules, clock.now());
  return [...evict, ...refuse].map(({ pod }) => pod);
}

export async function drain(
  context: DrainContext,
  node: string,
  options: DrainOptions,
): Promise<DrainResult> {
  const { api, clock } = context;
  const pods = await podsOf(api, node, options);
  const plan = await makePlan(api, pods, options, clock.now());
  if (plan.refuse.length > 0)
    throw new ImagoError(
      'drain-blocked',
      `The node ${node} cannot be drained: ${describeRefusals(plan.refuse)}.`,
      { details: { node, pods: plan.refuse.map(({ pod, reasons }) => ({ pod: nameOf(pod), reasons })) } },
    );
  const deadline = clock.now() + options.timeoutMs;
  const leaving = plan.evict.map(
    ({ pod }): Leaving => ({ pod, state: 'pending', dueAt: 0, reason: 'not evicted yet' }),
  );
  const last = await emptyNode(context, node, leaving, deadline, options);
  const known = new Set(pods.map(({ metadata }) => metadata.uid));
  const arrived = await makePlan(
    api,
    last.filter(({ metadata }) => !known.has(metadata.uid)),
    options,
    clock.now(),
  );
  return {
    evicted: plan.evict.map(({ pod }) => nameOf(pod)),
    kept: plan.keep.map(({ pod }) => nameOf(pod)),
    arrived: [...arrived.evict, ...arrived.refuse].map(({ pod }) => nameOf(pod)),
  };
}

/** Returns the pods on the node once all that must leave have left. */
async function emptyNode(
  { api, clock }: DrainContext,
  node: string,
  leaving: readonly Leaving[],
  deadline: number,
  options: DrainOptions,
): Promise<readonly Pod[]> {
  const { evictionVersion } = await api.discover(options);
  const send = options.disableEviction === true || evictionVersion === undefined ? deletePods : evictPods;
  let waiting = leaving;
  for (;;) {
    throwIfAborted(options.signal);
    let pods: readonly Pod[] | undefined;
    let away = '';
    try {
      await send(
        { api, clock },
        waiting.filter((one) => isDue(one, clock.now())),
        options,
      );
      pods = await podsOf(api, node, options);
      waiting = stillOn(pods, waiting, options);
    } catch (thrown) {
      throwIfAborted(options.signal);
      const error = ensureImagoError(thrown);
      if (!error.retryable) throw thrown;
      away = error.message;
    }
    const open = waiting.filter(({ state }) => state !== 'failed');
    if (pods !== undefined && open.length === 0) {
      if (waiting.length > 0) throw notEvicted(node, waiting);
      return pods;
    }
    if (clock.now() >= deadline) throw late(node, waiting, options.timeoutMs, away);
    await clock.sleep(Math.min(passMs, deadline - clock.now()), options.signal).catch((thrown: unknown) => {
      throwIfAborted(options.signal);
      throw thrown;
    });
  }
}

function isDue({ state, dueAt }: Leaving, now: number): boolean {
  return state === 'pending' && dueAt <= now;
}

async function evictPods(
  { api, clock }: DrainContext,
  due: readonly Leaving[],
  { gracePeriodSeconds, signal, progress, retryMs = kubectlRetryMs }: DrainOptions,
): Promise<void> {
  const results = await Promise.allSettled(
    due.map(async (one) => {
      const { name, namespace, uid, deletionTimestamp } = one.pod.metadata;
      const status = await api.evict({ namespace, name }, { uid, gracePeriodSeconds, signal });
      const result = readEviction(status, deletionTimestamp !== undefined);
      const pod = nameOf(one.pod);
      if (result.kind === 'accepted' || result.kind === 'gone') {
        Object.assign(one, { state: 'accepted', reason: terminating(one.pod) });
        progress?.({ pod, state: 'evicting' });
        return;
      }
      one.reason = result.reason;
      if (result.kind === 'failed') one.state = 'failed';
      else one.dueAt = clock.now() + retryMs;
      progress?.({ pod, state: 'waiting', reason: result.reason });
    }),
  );
  const lost = results.find((result) => result.status === 'rejected');
  if (lost !== undefined) throw lost.reason;
}

/** The first error ends the drain, as in kubectl. */
async function deletePods(
  { api }: DrainContext,
  due: readonly Leaving[],
  { gracePeriodSeconds, signal, progress }: DrainOptions,
): Promise<void> {
  for (const one of due) {
    const { name, namespace, uid } = one.pod.metadata;
    await api.delete('pods', { namespace, name }, { uid, gracePeriodSeconds, signal });
    Object.assign(one, { state: 'accepted', reason: terminating(one.pod) });
    progress?.({ pod: nameOf(one.pod), state: 'evicting' });
  }
}

function terminating({ metadata: { finalizers = [] } }: Pod): string {
  const held = finalizers.length === 0 ? '' : `, with the finalizers ${finalizers.join(', ')}`;
  return `evicted, but has not terminated yet${held}`;
}

/** A pod has left when its uid is no longer listed: a new pod can have its name. */
function stillOn(
  pods: readonly Pod[],
  waiting: readonly Leaving[],
  { progress }: DrainOptions,
): readonly Leaving[] {
  const present = new Set(pods.map(({ metadata }) => metadata.uid));
  return waiting.filter(({ pod }) => {
    if (present.has(pod.metadata.uid)) return true;
    progress?.({ pod: nameOf(pod), state: 'gone' });
    return false;
  });
}

function describe(waiting: readonly Leaving[]): string {
  return waiting.map(({ pod, reason }) => `${nameOf(pod)}: ${reason}`).join('; ');
}

function detailsOf(node: string, waiting: readonly Leaving[]) {
  return { node, pods: waiting.map(({ pod, reason }) => ({ pod: nameOf(pod), reasons: [reason] })) };
}

function notEvicted(node: string, failed: readonly Leaving[]): ImagoError {
  return new ImagoError(
    'drain-failed',
    `Pods of the node ${node} could not be evicted: ${describe(failed)}.`,
    {
      details: detailsOf(node, failed),
    },
  );
}

function late(node: string, waiting: readonly Leaving[], timeoutMs: number, away: string): ImagoError {
  const reason = away === '' ? describe(waiting) : away;
  return new ImagoError(
    'drain-timeout',
    `The node ${node} was not empty after ${timeoutMs / 1000} s: ${reason}.`,
    {
      details: detailsOf(node, waiting),
    },
  );
}

async function podsOf(api: KubeApi, node: string, { signal }: KubeCall): Promise<readonly Pod[]> {
  return (await api.list('pods', { fieldSelector: `spec.nodeName=${node}`, signal })).items;
}

async function makePlan(
  api: KubeApi,
  pods: readonly Pod[],
  rules: DrainRules & KubeCall,
  now: number,
): Promise<DrainPlan> {
  const names = new Set(pods.flatMap((pod) => daemonSetOf(pod) ?? []));
  const states = await Promise.all(
    [...names].map(async (key) => [key, await daemonSetState(api, key, rules)] as const),
  );
  return planDrain(pods, rules, new Map(states), now);
}

async function daemonSetState(api: KubeApi, key: string, { signal }: KubeCall): Promise<DaemonSetState> {
  const [namespace = '', name = ''] = key.split('/');
  try {
    const found = await api.get('daemonsets', { namespace, name }, { signal });
    return found === undefined ? 'missing' : 'present';
  } catch (thrown) {
    throwIfAborted(signal);
    return { unknown: ensureImagoError(thrown).message };
  }
}
