// Nodes.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { nodeDelete, nodeReplace, nodeRestart } from '../../../domain/node/operations.ts';
import { nodeConfigSet } from '../../../domain/node-config/operations.ts';
import { parseTime } from '../../../domain/value/time.ts';
import { requirePool } from '../../../operations/node/pool-nodes.ts';
import type { Fleet, NodeRecord } from '../../../ports/database/fleet.ts';
import type { Handlers } from '../endpoint/call.ts';
import type { DaemonContext } from '../endpoint/context.ts';
import { pageOfAll, pageOfPool } from '../endpoint/node-pages.ts';
import { nodeView, queryProvider } from '../endpoint/provider-view.ts';
import { startOperation } from '../endpoint/start-operation.ts';

export const nodeHandlers = {
  async listNodes(call) {
    const { pool } = call.query;
    if (pool === undefined) return pageOfAll(call, call.query);
    return pageOfPool(call, await requirePool(call.context, pool), call.query);
  },
  async showNode(call) {
    const record = await requireNode(call.context.fleet, call.path.node);
    const pool = await call.context.fleet.getPool(record.pool);
    if (pool === undefined || record.goneAt !== undefined) return nodeView(record, undefined);
    const seen = await queryProvider(call, pool, (pools, options) =>
      pools.getNode(pool.name, record.name, options),
    );
    return { ...nodeView(record, seen), provider: pool.provider };
  },
  async whichNode({ context, path, query }) {
    const at = query.at === undefined ? undefined : parseTime(query.at).toISOString();
    const found = await context.lifecycle.lineage.which(path.node, at);
    if (found === undefined) {
      const { name } = await requireNode(context.fleet, path.node);
      throw new ImagoError('node-not-found', `There was no node ${name} at ${at}.`);
    }
    const { name, machineId: _id, schedulable: _schedulable, ...made } = found;
    return { node: name, ...made };
  },
  async setNodeConfig(call) {
    const { name, pool } = await requireLiveNode(call.context.fleet, call.path.node);
    return startOperation(call, nodeConfigSet, { pool, node: name, ...call.body });
  },
  restartNode: async (call) => startOperation(call, nodeRestart, await nodeInput(call)),
  replaceNode: async (call) => startOperation(call, nodeReplace, await nodeInput(call)),
  deleteNode: async (call) =>
    startOperation(call, nodeDelete, { ...(await nodeInput(call)), noDrain: call.query.noDrain }),
} satisfies Partial<Handlers>;

/** The pool of a node follows from its record. */
async function nodeInput(call: {
  readonly context: DaemonContext;
  readonly path: { readonly node: string };
  readonly body?: unknown;
}) {
  const { name, pool } = await requireLiveNode(call.context.fleet, call.path.node);
  return { ...Object(call.body), pool, node: name };
}

export async function requireLiveNode(fleet: Fleet, name: string): Promise<NodeRecord> {
  const node = await requireNode(fleet, name);
  if (node.goneAt === undefined) return node;
  throw new ImagoError('node-not-found', `Node ${name} is gone since ${node.goneAt}.`, {
    hint: 'See `imago node list`.',
  });
}

export async function requireNode(fleet: Fleet, name: string): Promise<NodeRecord> {
  const node = await fleet.getNode(name);
  if (node !== undefined) return node;
  throw new ImagoError('node-not-found', `There is no node ${name}.`, { hint: 'See `imago node list`.' });
}
