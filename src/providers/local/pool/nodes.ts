// What can be asked of one node of a local pool.

import { change, look } from '../../../cloud/state/call.ts';
import { readModel, sameImage } from '../../../cloud/state/models.ts';
import { pageOf, rowsFor } from '../../../cloud/state/paging.ts';
import { lacks, notFound } from '../../../cloud/state/refusals.ts';
import type { CallOptions } from '../../../ports/provider/call.ts';
import type { Pools, Protection } from '../../../ports/provider/pools.ts';
import type { LocalContext } from '../state/context.ts';
import {
  changeMachine,
  type MachineRow,
  memoryClaims,
  requireSettled,
  switchPower,
} from '../state/machine-rows.ts';
import { readSize } from '../state/machine-size.ts';
import { requireMemory } from '../state/memory.ts';
import {
  findNode,
  findPool,
  nodeReader,
  type PoolRow,
  requireNode,
  requirePool,
} from '../state/pool-rows.ts';
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

export function localNodes(context: LocalContext): NodeRole {
  const { world, work } = context;

  /** Writes what `edit` says is to change about the node, and begins it. */
  async function onNode(
    pool: string,
    node: string,
    options: CallOptions,
    edit: (row: MachineRow) => Partial<MachineRow> | undefined,
  ): Promise<void> {
    const machineId = await change(context, `node ${node}`, options, () => {
      const row = requireNode(world, pool, node);
      const columns = edit(row);
      if (columns !== undefined) changeMachine(world, row.machineId, columns);
      return row.machineId;
    });
    work.machine(machineId);
  }

  return {
    getNode: (pool, node, options) =>
      look(context, options, () => {
        const found = findPool(world, pool);
        const row = found && findNode(world, pool, node);
        return row && nodeReader(context, found)(row);
      }),
    listNodes: (pool, query, options) =>
      look(context, options, () => {
        const found = findPool(world, pool);
        if (found === undefined) throw notFound(`There is no pool ${pool}.`);
        const rows = world.all<MachineRow>(
          'SELECT * FROM machine WHERE pool = ? AND name > ? ORDER BY name LIMIT ?',
          pool,
          query.cursor ?? '',
          rowsFor(query),
        );
        return pageOf(query, rows, (row) => row.name, nodeReader(context, found));
      }),
    stopNode: (pool, node, options) =>
      onNode(pool, node, options, (row) => switchPower(context, row, 'stopped', `Node ${node}`)),
    startNode: (pool, node, options) =>
      onNode(pool, node, options, (row) => switchPower(context, row, 'running', `Node ${node}`)),
    reimageNode: (pool, node, options) =>
      onNode(pool, node, options, (row) => {
        const uniform = requireUniform(context, pool, 'reimaged');
        requireSettled(row, `Node ${node}`);
        return imagedAnew(context, uniform, row);
      }),
    upgradeNode: (pool, node, options) =>
      onNode(pool, node, options, (row) => upgraded(context, requireUniform(context, pool, 'upgraded'), row)),
    protectNode: (pool, node, { fromScaleIn, fromPoolActions }: Protection, options) =>
      onNode(pool, node, options, () => ({
        protectScaleIn: Number(fromScaleIn),
        protectActions: Number(fromPoolActions),
      })),
    async deleteNode(pool, node, options) {
      const machineId = await change(context, `the end of node ${node}`, options, () =>
        deleteNode(context, pool, node),
      );
      if (machineId !== undefined) work.machine(machineId);
    },
  };
}

function imagedAnew(context: LocalContext, pool: PoolRow, row: MachineRow): Partial<MachineRow> {
  const model = readModel(context.world, pool.model);
  const source = modelSource(context, model);
  if ('code' in source) return { errorCode: source.code, errorMessage: source.message };
  const { memoryMb } = readSize(model.size);
  requireMemory(context.memory, memoryClaims(context, row.machineId), { count: 1, memoryMb });
  return {
    nextContent: source.digest,
    nextModel: pool.model,
    busyWith: 'updating',
    errorCode: null,
    errorMessage: null,
  };
}

function upgraded(context: LocalContext, pool: PoolRow, row: MachineRow): Partial<MachineRow> | undefined {
  const { world } = context;
  if (row.appliedModel === pool.model && row.nextModel === null) return undefined;
  if (row.nextModel === pool.model) return undefined;
  requireSettled(row, `Node ${row.name}`);
  const wanted = readModel(world, pool.model);
  if (!sameImage(readModel(world, row.diskModel ?? ''), wanted)) return imagedAnew(context, pool, row);
  const resized = readModel(world, row.appliedModel ?? '').size !== wanted.size && row.powerTo === 'running';
  return {
    appliedModel: pool.model,
    userData: null,
    busyWith: 'updating',
    metadataDue: 1,
    resizeDue: Number(resized),
  };
}

function deleteNode({ world }: LocalContext, pool: string, name: string): string | undefined {
  const row = findPool(world, pool) && findNode(world, pool, name);
  if (row === undefined || row.deleting === 1) return undefined;
  changeMachine(world, row.machineId, { deleting: 1 });
  world.run('UPDATE pool SET capacity = capacity - 1, etag = etag + 1 WHERE name = ?', pool);
  return row.machineId;
}

function requireUniform({ world }: LocalContext, name: string, done: string): PoolRow {
  const pool = requirePool(world, name);
  if (pool.orchestration === 'uniform') return pool;
  throw lacks(`Nodes of the flexible pool ${name} cannot be ${done}, only replaced.`);
}
