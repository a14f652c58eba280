// What can be asked of one node of a pool.

import { lacks, notFound } from '../../domain/error/refusals.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { Pools } from '../../ports/provider/pools.ts';
import { change, look } from '../state/call.ts';
import { type Bend, type Cloud, stillThere } from '../state/cloud.ts';
import { changeMachine, modelsConfig, requireSettled, switchPower } from '../state/machine-rows.ts';
import { readModel, sameImage } from '../state/models.ts';
import { pageByName } from '../state/paging.ts';
import { findNode, findPool, nodeReader, requireNode, requirePool } from '../state/pool-rows.ts';
import type { MachineRow, PoolRow } from '../state/rows.ts';
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

export function poolNodes(cloud: Cloud): NodeRole {
  const { world, executor, abilities } = cloud;

  /** Changes the node as `edit` says, and starts what is due then. */
  async function onNode(
    pool: string,
    node: string,
    options: CallOptions,
    edit: (row: MachineRow, bend: Bend) => Partial<MachineRow> | undefined,
  ): Promise<void> {
    const machineId = await change(cloud, `node ${node}`, options, (bend) => {
      const row = requireNode(world, pool, node);
      changeMachine(world, row.machineId, edit(row, bend) ?? {});
      return row.machineId;
    });
    executor.workOnMachines([machineId]);
  }

  return {
    getNode: (pool, node, options) =>
      look(cloud, options, () => {
        const found = findPool(world, pool);
        const row = found && findNode(world, pool, node);
        return row && nodeReader(cloud, found)(row);
      }),
    listNodes: (pool, query, options) =>
      look(cloud, options, () => {
        const found = findPool(world, pool);
        if (found === undefined) throw notFound(`There is no pool ${pool}.`);
        const inside = `machine WHERE pool = ? AND ${stillThere}`;
        return pageByName(world, query, inside, [pool, world.time()], nodeReader(cloud, found));
      }),
    stopNode: (pool, node, options) =>
      onNode(pool, node, options, (row, bend) => switchPower(cloud, row, 'stopped', `Node ${node}`, bend)),
    startNode: (pool, node, options) =>
      onNode(pool, node, options, (row, bend) => switchPower(cloud, row, 'running', `Node ${node}`, bend)),
    reimageNode: (pool, node, options) =>
      onNode(pool, node, options, (row, bend) => {
        if (!abilities.reimage) throw lacks('The provider cannot give a node a new disk.');
        const uniform = requireUniform(cloud, pool, 'reimaged');
        requireSettled(row, `Node ${node}`, world.time());
        return reimaged(cloud, uniform, row, bend);
      }),
    upgradeNode: (pool, node, options) =>
      onNode(pool, node, options, (row, bend) => {
        if (!abilities.upgrade) throw lacks('The provider cannot bring a node to the model of its pool.');
        return upgraded(cloud, requireUniform(cloud, pool, 'upgraded'), row, bend);
      }),
    protectNode: (pool, node, { fromScaleIn, fromPoolActions }, options) =>
      onNode(pool, node, options, () => {
        if (!abilities.protect) throw lacks('The provider cannot protect nodes.');
        return { protectScaleIn: Number(fromScaleIn), protectActions: Number(fromPoolActions) };
      }),
    async deleteNode(pool, node, options) {
      const gone = await change(cloud, `node ${node}`, options, (bend) =>
        deleteNode(cloud, pool, node, bend),
      );
      executor.workOnMachines(gone);
    },
  };
}

function reimaged(cloud: Cloud, pool: PoolRow, row: MachineRow, bend: Bend): Partial<MachineRow> {
  const source = modelSource(cloud, pool);
  const { size } = readModel(cloud.world, pool.model);
  if (!('code' in source)) cloud.executor.requireRoom(1, size, row);
  const imaging = { kind: 'nodeReimage', source, model: pool.model, batch: 0, bend } as const;
  return cloud.executor.giveDisk(row, imaging);
}

function upgraded(cloud: Cloud, pool: PoolRow, row: MachineRow, bend: Bend): Partial<MachineRow> | undefined {
  const { world, executor } = cloud;
  if ((row.nextModel ?? row.appliedModel) === pool.model) return undefined;
  requireSettled(row, `Node ${row.name}`, world.time());
  const wanted = readModel(world, pool.model);
  if (!sameImage(readModel(world, row.diskModel ?? ''), wanted)) return reimaged(cloud, pool, row, bend);
  if (bend.failure !== undefined) return undefined;
  const resized = readModel(world, row.appliedModel ?? '').size !== wanted.size;
  return {
    appliedModel: pool.model,
    ...modelsConfig,
    busyWith: 'updating',
    readyAt: executor.endOf('nodeUpgrade', row.name, bend),
    ...executor.applyModel(row, resized),
  };
}

/** Returns the machine that is to go, if it is not going already. */
function deleteNode({ world, executor }: Cloud, pool: string, name: string, bend: Bend): readonly string[] {
  const row = findPool(world, pool) && findNode(world, pool, name);
  if (row === undefined || row.deletedAt !== null || bend.failure !== undefined) return [];
  const goneAt = executor.endOf('nodeDelete', name, bend);
  changeMachine(world, row.machineId, { deletedAt: world.time(), goneAt });
  world.run('UPDATE pool SET capacity = capacity - 1, etag = etag + 1 WHERE name = ?', pool);
  return [row.machineId];
}

function requireUniform({ world }: Cloud, name: string, done: string): PoolRow {
  const pool = requirePool(world, name);
  if (pool.orchestration === 'uniform') return pool;
  throw lacks(`Nodes of the flexible pool ${name} cannot be ${done}, only replaced.`);
}
