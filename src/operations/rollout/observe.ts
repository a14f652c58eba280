// Reads what a wave of a rollout is decided from: the nodes of the pool, and the operations that move them.
import { nodeState } from '../../domain/node/state.ts';
import type { NodeInWave } from '../../domain/rollout/wave.ts';
import type { ProviderNode } from '../../ports/provider/pools.ts';
import type { OperationRecord } from '../../ports/workflow/operation.ts';
import type { OperationDeps } from '../common/deps.ts';
import { failureReason, isBroken, type OpenPool, poolNodes } from '../node/pool-nodes.ts';

export interface SeenPool {
  readonly nodes: ReadonlyMap<string, ProviderNode>;
  readonly unavailable: ReadonlySet<string>;
  readonly broken: ReadonlyMap<string, string>;
}

export async function seePool(access: OpenPool): Promise<SeenPool> {
  const nodes = new Map<string, ProviderNode>();
  const unavailable = new Set<string>();
  const broken = new Map<string, string>();
  for await (const node of poolNodes(access, access.pool.name)) {
    const state = nodeState(node);
    if (node.state === 'deleting') continue;
    nodes.set(node.name, node);
    if (state !== 'ready' && state !== 'stopped') unavailable.add(node.name);
    if (isBroken(state)) broken.set(node.name, failureReason(node));
  }
  return { nodes, unavailable, broken };
}

export function moveId(operation: string, phase: 'to' | 'back', node: string, attempt: number): string {
  return `${operation}.${phase}.${node}.${attempt}`;
}

/** Returns the last operation that moved the node in this phase. */
export async function lastMove(
  { journal }: Pick<OperationDeps, 'journal'>,
  operation: string,
  phase: 'to' | 'back',
  node: string,
): Promise<NodeInWave['move']> {
  let found: { record: OperationRecord; attempt: number } | undefined;
  for (let attempt = 1; ; attempt += 1) {
    const record = await journal.get(moveId(operation, phase, node, attempt));
    if (record === undefined) break;
    found = { record, attempt };
  }
  if (found === undefined) return undefined;
  const { record, attempt } = found;
  const { startedAt, createdAt, endedAt, error, progress } = record;
  const sentence = error?.message ?? progress?.sentence;
  return {
    state: endedAt === undefined ? 'live' : record.state === 'succeeded' ? 'succeeded' : 'failed',
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
