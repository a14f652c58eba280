// Nodes.
import { ImagoError } from '../../../domain/errors.ts';
import type { Fleet, NodeRecord } from '../../../ports/fleet.ts';
import type { ReadHandlers, WriteHandlers } from '../call.ts';
import { pageOfAll, pageOfPool } from '../node-pages.ts';
import { askProvider, nodeView } from '../provider-view.ts';
import { startOperation } from '../start-operation.ts';
import { requirePool } from './pools.ts';

export const nodeReads = {
  async listNodes(call) {
    const { pool } = call.query;
    if (pool === undefined) return pageOfAll(call, call.query);
    return pageOfPool(call, await requirePool(call.context.fleet, pool), call.query);
  },
  async showNode(call) {
    const record = await requireNode(call.context.fleet, call.path.node);
    const pool = await call.context.fleet.getPool(record.pool);
    if (pool === undefined || record.goneAt !== undefined) return nodeView(record, undefined);
    const seen = await askProvider(call, pool, (pools, options) =>
      pools.getNode(pool.name, record.name, options),
    );
    return nodeView(record, seen);
  },
  async whichNode({ context, path }) {
    const { name, pool, image, version, digest, reference, channel, move, at } = await requireNode(
      context.fleet,
      path.node,
    );
    return { node: name, pool, image, version, digest, reference, channel, move, at };
  },
} satisfies Partial<ReadHandlers>;

export const nodeWrites = {
  async setNodeConfig(call) {
    const { name, pool, goneAt } = await requireNode(call.context.fleet, call.path.node);
    if (goneAt !== undefined) {
      throw new ImagoError('node-not-found', `Node ${name} is gone since ${goneAt}.`, {
        hint: 'See `imago node list`.',
      });
    }
    return startOperation(call, {
      kind: 'node-config-set',
      subject: `pool/${pool}`,
      input: { pool, node: name, ...call.body },
    });
  },
} satisfies Partial<WriteHandlers>;

export async function requireNode(fleet: Fleet, name: string): Promise<NodeRecord> {
  const node = await fleet.getNode(name);
  if (node !== undefined) return node;
  throw new ImagoError('node-not-found', `There is no node ${name}.`, { hint: 'See `imago node list`.' });
}
