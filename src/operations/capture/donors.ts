// Reads the nodes of a pool from its provider and its cluster, and evaluates the rules for donors.
import { chooseDonor, type DonorChoice, type DonorNode } from '../../domain/capture/donor.ts';
import type { DonorQuestion } from '../../domain/capture/operations.ts';
import { prototypeLine } from '../../domain/capture/prototype.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { newestOf, type VersionRecord } from '../../domain/image/version.ts';
import type { Condition, KubeNode } from '../../domain/kube/objects.ts';
import { nodeState } from '../../domain/node/state.ts';
import { parseDuration } from '../../domain/value/duration.ts';
import type { PoolRecord } from '../../ports/database/fleet.ts';
import type { PoolCluster } from '../../ports/kube/clusters.ts';
import type { ProviderNode } from '../../ports/provider/pools.ts';
import { allPages } from '../common/all-pages.ts';
import type { Calls, OperationDeps } from '../common/deps.ts';
import { inBatches } from '../common/in-batches.ts';
import { ancestorsOf } from '../image/ancestors.ts';
import { failureReason, isBroken, openPool, type PoolReading, poolNodes } from '../node/pool-nodes.ts';

/** Whether a node is ready, and since when: the Kubernetes condition. */
const readyCondition = 'Ready';
const adverse: ReadonlySet<string> = new Set([
  'MemoryPressure',
  'DiskPressure',
  'PIDPressure',
  'NetworkUnavailable',
]);
const optOut = 'imago.dev/no-capture';
const patchedAt = ['imago.dev/patched-at', 'weave.works/kured-most-recent-reboot-needed'];
const rebooting = 'weave.works/kured-reboot-in-progress';
const cordonedBy = 'imago.dev/cordoned-by';
/** A kubelet that has nothing else to report updates its conditions every 5 minutes. */
const maxHeartbeatAgeMs = 10 * 60_000;
/** Pods are counted only for the best candidates. */
const countedNodes = 10;
const manyPods = 100;

export interface Donors {
  readonly choice: DonorChoice;
  readonly pool: PoolRecord;
  readonly nodes: ReadonlyMap<string, ProviderNode>;
  /** The version that each node was created from, by NAME:VERSION. */
  readonly versions: ReadonlyMap<string, Ancestry>;
}

export interface Ancestry {
  readonly version: VersionRecord;
  /** Its ancestors by capture, the parent first; the last one was not captured. */
  readonly ancestors: readonly VersionRecord[];
}

/** What is needed to explain the choice of a donor. */
export type DonorReading = PoolReading & Pick<Calls, 'catalogue' | 'clusterOf'>;

export async function readDonors(run: DonorReading, name: string, question: DonorQuestion): Promise<Donors> {
  const access = await openPool(run, name);
  const { pool, provider } = access;
  const cluster = await run.clusterOf(pool);
  // Before the nodes are read: the heartbeats that arrive in the meantime are ahead of it, and valid.
  const now = provider.clock.now();
  const nodes = new Map<string, ProviderNode>();
  for await (const node of poolNodes(access, name)) nodes.set(node.name, node);
  const objects = new Map((await cluster?.nodes(run.call))?.map((node) => [node.metadata.name, node]));
  const versions = await readVersions(run, nodes.values());
  const facts = await inBatches([...nodes.values()], async (node): Promise<DonorNode> => {
    const made = `${node.image}:${node.version}`;
    const common = {
      ...{ name: node.name, pool: node.pool, model: made, pods: 0 },
      generation: versions.get(made)?.ancestors.length ?? 0,
      ...{ hasDisk: node.osDisk !== undefined, isProtected: isProtected(node) },
      ...(node.zone !== undefined && { zone: node.zone }),
    };
    if (cluster !== undefined)
      return { ...common, ...fromCluster(node, objects.get(cluster.nodeName(node))) };
    const report = await provider.nodeConfigs?.getReport(name, node.name, run.call);
    return { ...common, ...fromProvider(node, report?.at, now) };
  });
  const base = (pool.base ?? pool).digest;
  const isDescendant = ({ version, ancestors }: Ancestry) =>
    [version, ...ancestors].some(({ digest }) => digest === base);
  const lastVersionAt = await lastCaptureAt(run, pool);
  const request = {
    ...{ pool: name, now: new Date(now), minReadyMs: parseDuration(question.minReady) },
    models: [...versions].flatMap(([text, one]) => (isDescendant(one) ? [text] : [])),
    ...(lastVersionAt !== undefined && { lastVersionAt }),
    ...(question.node !== undefined && { node: question.node }),
    ...{ waivePatch: question.unpatched, maxHeartbeatAgeMs },
  };
  const first = chooseDonor(facts, request);
  if (cluster === undefined) return { choice: first, pool, nodes, versions };
  const counted = await countPods(run, cluster, first, nodes);
  const pods = ({ name: node }: DonorNode) => counted.get(node) ?? manyPods;
  const choice = chooseDonor(
    facts.map((node) => ({ ...node, pods: pods(node) })),
    request,
  );
  return { choice, pool, nodes, versions };
}

/** Throws `capture-refused` or `node-not-found`. */
export function requireDonor({ choice, nodes, pool }: Donors, named: string | undefined): ProviderNode {
  const { name } = pool;
  if (nodes.size === 0) throw refused(`Pool ${name} has no nodes.`);
  if (named !== undefined && !nodes.has(named))
    throw new ImagoError('node-not-found', `Pool ${name} has no node ${named}.`);
  const donor = choice.donor === undefined ? undefined : nodes.get(choice.donor);
  if (donor !== undefined) return donor;
  const [first] = choice.nodes;
  const broken = (first?.rules ?? []).filter(({ isMet }) => !isMet);
  const reasons = broken.map(({ rule, value }) => `${rule}: ${value}`).join('; ');
  throw refused(`${choice.refusal ?? 'No node is a candidate.'} ${first?.name}: ${reasons}.`);
}

function refused(message: string): ImagoError {
  return new ImagoError('capture-refused', message);
}

function isProtected({ protection }: ProviderNode): boolean {
  return protection.fromScaleIn || protection.fromPoolActions;
}

type Observed = Omit<
  DonorNode,
  'name' | 'pool' | 'model' | 'pods' | 'generation' | 'hasDisk' | 'isProtected' | 'zone'
>;

function fromProvider(node: ProviderNode, reportedAt: string | undefined, now: number): Observed {
  const state = nodeState(node);
  return {
    isReady: state === 'ready',
    readyChangedAt: reportedAt ?? node.imagedAt,
    heartbeatAt: new Date(now).toISOString(),
    ...{ isSchedulable: true, isControlPlane: false, isOptedOut: false, isRebootPending: false },
    problems: isBroken(state) ? [failureReason(node)] : [],
  };
}

/** A node that the provider or the cluster does not report as ready is not ready. */
function fromCluster(node: ProviderNode, object: KubeNode | undefined): Observed {
  const { annotations = {}, labels = {} } = object?.metadata ?? {};
  const conditions = object?.status?.conditions ?? [];
  const ready = conditions.find(({ type }) => type === readyCondition);
  const patched = patchedAt.map((key) => annotations[key]).find((text) => text !== undefined);
  return {
    isReady: nodeState(node) === 'ready' && isReady(object),
    readyChangedAt: ready?.lastTransitionTime,
    heartbeatAt: ready?.lastHeartbeatTime,
    isSchedulable: object !== undefined && object.spec?.unschedulable !== true,
    isControlPlane:
      'node-role.kubernetes.io/control-plane' in labels || 'node-role.kubernetes.io/master' in labels,
    operation: annotations[cordonedBy],
    isOptedOut: optOut in annotations || optOut in labels,
    isRebootPending: rebooting in annotations,
    patchedAt: patched,
    problems: [
      ...conditions.filter(isAdverse).map(({ type }) => type),
      ...(isBroken(nodeState(node)) ? [failureReason(node)] : []),
    ],
  };
}

export function isReady(object: KubeNode | undefined): boolean {
  return (
    object?.status?.conditions?.some(({ type, status }) => type === readyCondition && status === 'True') ===
    true
  );
}

function isAdverse({ type, status }: Condition): boolean {
  return adverse.has(type) && status === 'True';
}

async function countPods(
  run: DonorReading,
  cluster: PoolCluster,
  { nodes }: DonorChoice,
  known: ReadonlyMap<string, ProviderNode>,
): Promise<ReadonlyMap<string, number>> {
  const best = nodes.filter(({ isCandidate }) => isCandidate).slice(0, countedNodes);
  const counts = await inBatches(best, async ({ name }) => {
    const node = known.get(name);
    if (node === undefined) return [name, manyPods] as const;
    const rules = { force: true, ignoreDaemonSets: true, deleteEmptyDirData: true };
    const { plan } = await cluster.previewDrain(cluster.nodeName(node), { ...rules, ...run.call });
    return [name, plan.evict.length] as const;
  });
  return new Map(counts);
}

async function readVersions(
  deps: Pick<OperationDeps, 'catalogue'>,
  nodes: Iterable<ProviderNode>,
): Promise<ReadonlyMap<string, Ancestry>> {
  const found = new Map<string, Ancestry>();
  for (const { image, version: number } of nodes) {
    const text = `${image}:${number}`;
    if (found.has(text)) continue;
    const version = await deps.catalogue.getVersion(image, number);
    if (version !== undefined) found.set(text, { version, ancestors: await ancestorsOf(deps, version) });
  }
  return found;
}

/** The creation time of the newest capture, or of the version that the pool follows. */
async function lastCaptureAt(
  { catalogue }: Pick<OperationDeps, 'catalogue'>,
  pool: PoolRecord,
): Promise<string | undefined> {
  const line = prototypeLine(pool.name);
  const captures: VersionRecord[] = [];
  if ((await catalogue.getImage(line)) !== undefined) {
    for await (const version of allPages((query) => catalogue.listVersions(line, query)))
      if (version.state !== 'withdrawn') captures.push(version);
  }
  const { image, version } = pool.base ?? pool;
  return (newestOf(captures) ?? (await catalogue.getVersion(image, version)))?.createdAt;
}
