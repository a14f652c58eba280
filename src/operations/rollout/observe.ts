// Reads what a wave of a rollout is decided from: the nodes of the pool, and the operations that move them.

import { hasCondition, type KubeNode } from '../../domain/kube/objects.ts';
import { nodeState } from '../../domain/node/state.ts';
import type { NodeInWave } from '../../domain/rollout/wave.ts';
import type { PoolCluster } from '../../ports/kube/clusters.ts';
import type { ProviderNode } from '../../ports/provider/pools.ts';
import type { ChildState } from '../../ports/workflow/operation.ts';
import type { OperationDeps } from '../common/deps.ts';
import type { Run } from '../common/operation.ts';
import { stopChildren } from '../common/stop-children.ts';
import { failureReason, isBroken, type OpenPool, poolNodes } from '../node/pool-nodes.ts';

export interface SeenPool {
  readonly nodes: ReadonlyMap<string, ProviderNode>;
  readonly unavailable: ReadonlySet<string>;
  readonly broken: ReadonlyMap<string, string>;
  /** The Node objects of the cluster, by the names of the nodes. */
  readonly objects: ReadonlyMap<string, KubeNode>;
}

/** With the cluster of the pool, nodes that are not ready there do not serve either. */
export async function seePool(access: OpenPool, cluster?: PoolCluster): Promise<SeenPool> {
  const joined = new Map((await cluster?.nodes(access.options))?.map((one) => [one.metadata.name, one]));
  const nodes = new Map<string, ProviderNode>();
  const unavailable = new Set<string>();
  const broken = new Map<string, string>();
  const objects = new Map<string, KubeNode>();
  for await (const node of poolNodes(access, access.pool.name)) {
    const state = nodeState(node);
    if (node.state === 'deleting') continue;
    nodes.set(node.name, node);
    const member = joined.get(cluster?.nodeName(node) ?? '');
    if (member !== undefined) objects.set(node.name, member);
    // A node that joins automatically is not ready without its cluster.
    const isUp = state === 'ready' || (state === 'unknown' && cluster?.joining !== undefined);
    const isLost = isUp && member !== undefined && !hasCondition(member, 'Ready');
    if ((state !== 'ready' && state !== 'stopped') || isLost) unavailable.add(node.name);
    if (isBroken(state)) broken.set(node.name, failureReason(node));
    else if (isLost) broken.set(node.name, `not ready in cluster ${cluster?.name}`);
  }
  return { nodes, unavailable, broken, objects };
}

export function moveId(operation: string, phase: 'to' | 'back', node: string, attempt: number): string {
  return `${operation}.${phase}.${node}.${attempt}`;
}

export type Moves = ReadonlyMap<string, NonNullable<NodeInWave['move']>>;

/** Returns the last operation that moved each node in this phase, in one read whatever their number. */
export async function readMoves(
  { journal }: Pick<OperationDeps, 'journal'>,
  operation: string,
  phase: 'to' | 'back',
): Promise<Moves> {
  const prefix = `${operation}.${phase}.`;
  const moves = new Map<string, NonNullable<NodeInWave['move']>>();
  for (const child of await journal.childStates(operation)) {
    if (!child.id.startsWith(prefix)) continue;
    const [, node = '', attempt = ''] = /^(.*)\.(\d+)$/.exec(child.id.slice(prefix.length)) ?? [];
    if (Number(attempt) > (moves.get(node)?.attempt ?? 0)) moves.set(node, moveOf(child, Number(attempt)));
  }
  return moves;
}

/** Cancels the operations that still move nodes to the target, and waits until they have ended. */
export async function stopMoves(run: Pick<Run, 'desk' | 'journal' | 'operation' | 'signal'>): Promise<void> {
  await stopChildren(run, `${run.operation.id}.to.`);
}

function moveOf(child: ChildState, attempt: number): NonNullable<NodeInWave['move']> {
  const { state, startedAt, createdAt, endedAt, error, progress } = child;
  const sentence = error?.message ?? progress?.sentence;
  return {
    state: endedAt === undefined ? 'live' : state === 'succeeded' ? 'succeeded' : 'failed',
    attempt,
    since: Date.parse(startedAt ?? createdAt),
    ...(endedAt !== undefined && { endedAt: Date.parse(endedAt) }),
    ...(sentence !== undefined && { sentence }),
    ...(error !== undefined && { blocked: saysNothingOfVersion(error.code) }),
  };
}

/** Budgets, conflicts, quotas, and API servers that are away would have stopped any other version too. */
function saysNothingOfVersion(code: string): boolean {
  return /^(?:drain|cluster|operation|gallery)-|^provider-(?:conflict|throttled|quota|unreachable)$|^cancelled$/.test(
    code,
  );
}
