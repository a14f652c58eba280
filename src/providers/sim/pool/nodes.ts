// What can be asked of one node of a simulated pool.

import { change, look } from '../../../cloud/state/call.ts';
import type { Bend } from '../../../cloud/state/cloud.ts';
import { readModel, sameImage } from '../../../cloud/state/models.ts';
import { pageOf, rowsFor } from '../../../cloud/state/paging.ts';
import { lacks, notFound } from '../../../cloud/state/refusals.ts';
import type { World } from '../../../cloud/state/state-file.ts';
import type { Page, PageQuery } from '../../../ports/page.ts';
import type { Pools, Protection, ProviderNode } from '../../../ports/provider/pools.ts';
import { imagedAgain, requireSettled, switchPower } from '../state/machine-rows.ts';
import {
  findNode,
  findPool,
  type NodeRow,
  nodeReader,
  type PoolRow,
  requireNode,
  requirePool,
} from '../state/pool-rows.ts';
import { endOf, type SimContext } from '../world/context.ts';
import { modelSource } from './scaling.ts';

type NodeRole = Pick<
  Pools,
  | 'getNode'
  | 'listNodes'
  | 'stopNode'
  | 'startNode'
  | 'reimageNode'
  | 'upgradeNode'
  | 'protectNode'
  | 'deleteNode'
>;

export function simNodes(context: SimContext): NodeRole {
  return {
    getNode: (pool, node, options) => look(context, options, () => getNode(context, pool, node)),
    listNodes: (pool, query, options) => look(context, options, () => listNodes(context, pool, query)),
    stopNode: (pool, node, options) =>
      change(context, `node ${node}`, options, (bend) => setPower(context, pool, node, 'stopped', bend)),
    startNode: (pool, node, options) =>
      change(context, `node ${node}`, options, (bend) => setPower(context, pool, node, 'running', bend)),
    reimageNode: (pool, node, options) =>
      change(context, `node ${node}`, options, (bend) => reimageNode(context, pool, node, bend)),
    upgradeNode: (pool, node, options) =>
      change(context, `node ${node}`, options, (bend) => upgradeNode(context, pool, node, bend)),
    protectNode: (pool, node, protection, options) =>
      change(context, `node ${node}`, options, () => protectNode(context, pool, node, protection)),
    deleteNode: (pool, node, options) =>
      change(context, `node ${node}`, options, (bend) => deleteNode(context, pool, node, bend)),
  };
}

function getNode(context: SimContext, poolName: string, name: string): ProviderNode | undefined {
  const pool = findPool(context.world, poolName);
  const row = pool && findNode(context.world, poolName, name);
  return row && nodeReader(context, pool)(row);
}

function listNodes(context: SimContext, poolName: string, query: PageQuery): Page<ProviderNode> {
  const { world } = context;
  const pool = findPool(world, poolName);
  if (pool === undefined) throw notFound(`There is no pool ${poolName}.`);
  const rows = world.all<NodeRow>(
    `SELECT * FROM node WHERE pool = ? AND name > ? AND (goneAt IS NULL OR goneAt > ?) ORDER BY name LIMIT ?`,
    poolName,
    query.cursor ?? '',
    world.time(),
    rowsFor(query),
  );
  return pageOf(query, rows, (row) => row.name, nodeReader(context, pool));
}

function setPower(
  context: SimContext,
  pool: string,
  name: string,
  to: 'running' | 'stopped',
  bend: Bend,
): void {
  const row = requireNode(context.world, pool, name);
  const columns = switchPower(context, row, to, `Node ${name}`, bend);
  if (columns !== undefined) changeNode(context.world, row, { ...columns });
}

function reimageNode(context: SimContext, poolName: string, name: string, bend: Bend): void {
  if (!context.abilities.reimage) throw lacks('The provider cannot give a node a new disk.');
  const pool = requireUniform(context, poolName, 'reimaged');
  const row = requireNode(context.world, poolName, name);
  requireSettled(row, `Node ${name}`, context.world.time());
  makeAnew(context, pool, row, bend);
}

function upgradeNode(context: SimContext, poolName: string, name: string, bend: Bend): void {
  const { world, abilities } = context;
  if (!abilities.upgrade) throw lacks('The provider cannot bring a node to the model of its pool.');
  const pool = requireUniform(context, poolName, 'upgraded');
  const row = requireNode(world, poolName, name);
  if (row.appliedModel === pool.model) return;
  requireSettled(row, `Node ${name}`, world.time());
  if (!sameImage(readModel(world, row.diskModel), readModel(world, pool.model))) {
    makeAnew(context, pool, row, bend);
  } else if (bend.failure === undefined) {
    const readyAt = endOf(context, 'nodeUpgrade', name, bend);
    changeNode(world, row, { appliedModel: pool.model, busyWith: 'updating', readyAt, ...modelsConfig });
  }
}

/** A node that is brought to the model reads the model's config again. */
const modelsConfig = { userData: null, userDataBefore: null, userDataAt: null } as const;

function makeAnew(context: SimContext, pool: PoolRow, row: NodeRow, bend: Bend): void {
  const { done, ...columns } = imagedAgain(context, {
    kind: 'nodeReimage',
    name: row.name,
    source: modelSource(context, pool),
    waits: 0,
    bend,
  });
  const models = done ? { diskModel: pool.model, appliedModel: pool.model, ...modelsConfig } : {};
  changeNode(context.world, row, { ...columns, ...models });
}

function protectNode(context: SimContext, pool: string, name: string, protection: Protection): void {
  if (!context.abilities.protect) throw lacks('The provider cannot protect nodes.');
  const row = requireNode(context.world, pool, name);
  changeNode(context.world, row, {
    protectScaleIn: Number(protection.fromScaleIn),
    protectActions: Number(protection.fromPoolActions),
  });
}

function deleteNode(context: SimContext, pool: string, name: string, bend: Bend): void {
  const { world } = context;
  const row = findPool(world, pool) && findNode(world, pool, name);
  if (row === undefined || row.goneAt !== null || bend.failure !== undefined) return;
  changeNode(world, row, { goneAt: endOf(context, 'nodeDelete', name, bend) });
  world.run('UPDATE pool SET capacity = capacity - 1, etag = etag + 1 WHERE name = ?', pool);
}

function requireUniform({ world }: SimContext, name: string, done: string): PoolRow {
  const pool = requirePool(world, name);
  if (pool.orchestration === 'uniform') return pool;
  throw lacks(`Nodes of the flexible pool ${name} cannot be ${done}, only replaced.`);
}

function changeNode(world: World, { pool, name }: NodeRow, columns: Partial<NodeRow>): void {
  world.update('node', { pool, name }, columns);
}
