// Takes a node out of service before something stops, replaces, or deletes it, and returns it afterwards: cordoned,
// drained by kubectl's rules, and checked again, if its pool belongs to a cluster. Safe to repeat after a crash.
import type { DrainSettings } from '../../domain/drain/fields.ts';
import { ensureImagoError, ImagoError } from '../../domain/error/imago-error.ts';
import { hasCondition, nameOf } from '../../domain/kube/objects.ts';
import { noDrain } from '../../domain/pool/pool.ts';
import { parseDuration } from '../../domain/value/duration.ts';
import type { PoolRecord } from '../../ports/database/fleet.ts';
import type { DrainEvent } from '../../ports/kube/cluster.ts';
import type { PoolCluster } from '../../ports/kube/clusters.ts';
import { settle } from '../../workflow/poll-until.ts';
import type { OperationDeps } from '../common/deps.ts';
import type { Reading, Run } from '../common/operation.ts';
import { type PoolAccess, waiting } from './pool-nodes.ts';

/** Where a node is in service; `undefined` if its pool has no cluster, or its pods are not to be drained. */
export interface Service {
  readonly cluster: PoolCluster;
  readonly settings: DrainSettings;
}

type Serving = Pick<Run, 'operation' | 'progress' | 'signal'>;

const drainRounds = 3;
/** A node whose kubelet is gone does not confirm that its pods have ended. */
const deadNodeMs = 60_000;
const joinMs = 20 * 60_000;

export async function serviceOf(
  { clusterOf }: Pick<OperationDeps, 'clusterOf'>,
  pool: PoolRecord,
  settings: DrainSettings,
): Promise<Service | undefined> {
  const cluster = settings.noDrain ? undefined : await clusterOf(pool);
  return cluster && { cluster, settings };
}

/**
 * Cordons and drains the node. Has no effect if it is not in the cluster. Throws `drain-blocked`, `drain-failed`, and
 * `drain-timeout`, except for nodes that are not ready: their pods do not run.
 */
export async function leaveService(run: Serving, service: Service | undefined, node: string): Promise<void> {
  const { cluster, settings } = service ?? {};
  if (cluster === undefined || settings === undefined) return;
  const name = cluster.nodeName({ name: node });
  const found = await cluster.node(name, run);
  if (found === undefined) return;
  refuseOtherReboot(name, found.metadata.annotations);
  const isReady = hasCondition(found, 'Ready');
  await cluster.cordon(name, run.operation.id, run);
  const rules = rulesOf(settings);
  const timeoutMs = isReady ? parseDuration(settings.drainTimeout) : deadNodeMs;
  try {
    for (let round = 1; ; round += 1) {
      const progress = (event: DrainEvent) => run.progress(0, 1, describeEvent(node, event));
      await cluster.drain(name, { ...rules, timeoutMs, signal: run.signal, progress });
      // Pods that tolerate the cordon can arrive at any time, also after the drain.
      const arrived = await cluster.podsLeft(name, { ...rules, signal: run.signal });
      if (arrived.length === 0) break;
      if (round === drainRounds)
        throw new ImagoError(
          'drain-failed',
          `Pods keep coming to node ${node}: ${arrived.map(nameOf).join(', ')}.`,
        );
    }
  } catch (thrown) {
    if (isReady || !ensureImagoError(thrown).code.startsWith('drain-')) throw thrown;
  }
  run.progress(0, 1, `node ${node} is drained`);
}

/** Takes several nodes out of service, in order. All are cordoned first: no pod moves to one that goes next. */
export async function leaveServiceAll(
  run: Serving,
  service: Service | undefined,
  nodes: readonly string[],
): Promise<void> {
  for (const node of nodes) {
    const name = service?.cluster.nodeName({ name: node });
    const found = name === undefined ? undefined : await service?.cluster.node(name, run);
    if (name !== undefined && found !== undefined) await service?.cluster.cordon(name, run.operation.id, run);
  }
  for (const node of nodes) await leaveService(run, service, node);
}

/** Restores the state from before `leaveService`. Has no effect on a node that is gone. */
export async function returnToService(
  run: Serving,
  service: Service | undefined,
  node: string,
): Promise<void> {
  if (service === undefined) return;
  const { cluster } = service;
  const name = cluster.nodeName({ name: node });
  const found = await cluster.node(name, run);
  if (found === undefined) return;
  await cluster.uncordon(name, { owner: run.operation.id, uid: found.metadata.uid ?? '' }, run);
}

/** Waits until the cluster has the node, ready. Throws `provider-timeout`. */
export async function awaitJoined(
  run: Serving,
  access: PoolAccess,
  service: Service | undefined,
  node: string,
): Promise<void> {
  if (service === undefined) return;
  const { cluster } = service;
  const name = cluster.nodeName({ name: node });
  const isJoined = async () => {
    const found = await cluster.node(name, run);
    return found !== undefined && hasCondition(found, 'Ready') ? true : undefined;
  };
  run.progress(0, 1, `node ${node} joins cluster ${cluster.name}`);
  await settle(isJoined, waiting(access, `Node ${node} in cluster ${cluster.name}`, joinMs));
}

/** Sentences for a plan: whether nodes are drained, and what would block it. Looks at the first few nodes only. */
export async function previewDrains(
  run: Pick<Reading, 'clusterOf' | 'signal'>,
  pool: PoolRecord,
  settings: DrainSettings,
  nodes: readonly string[],
): Promise<readonly string[]> {
  const service = await serviceOf(run, pool, settings);
  if (service === undefined) return [noDrain];
  const { cluster } = service;
  const lines: string[] = [];
  for (const node of nodes.slice(0, previewed)) {
    const name = cluster.nodeName({ name: node });
    if ((await cluster.node(name, run)) === undefined) continue;
    const { plan, blockers } = await cluster.previewDrain(name, { ...rulesOf(settings), signal: run.signal });
    for (const { pod, reasons } of plan.refuse)
      lines.push(`Node ${node} cannot be drained: pod ${nameOf(pod)} ${reasons.join(', ')}.`);
    for (const { budgets, reason } of blockers)
      lines.push(`Node ${node} waits for budget ${budgets.join(', ')}: ${reason}.`);
  }
  return [`Nodes are drained first, for up to ${settings.drainTimeout} each.`, ...lines];
}

const previewed = 5;

function rulesOf({ force, deleteEmptydirData }: DrainSettings) {
  return { force, deleteEmptyDirData: deleteEmptydirData, ignoreDaemonSets: true };
}

/** kured marks the node that it is about to reboot. */
function refuseOtherReboot(node: string, annotations: Readonly<Record<string, string>> = {}): void {
  if (annotations['weave.works/kured-reboot-in-progress'] === undefined) return;
  throw new ImagoError('drain-blocked', `kured is rebooting node ${node}.`);
}

function describeEvent(node: string, { pod, state, reason }: DrainEvent): string {
  const budget = /disruption budget (\S+) needs/.exec(reason ?? '')?.[1];
  if (budget !== undefined) return `budget ${pod.split('/')[0]}/${budget} lets no pod leave`;
  if (state === 'waiting') return `pod ${pod}: ${reason ?? 'it waits'}`;
  return `draining node ${node}: pod ${pod} ${state === 'gone' ? 'has left' : 'is evicted'}`;
}
