// Pools and their nodes as they are stored, and as the role shows them.

import { busy, notFound } from '../../domain/error/refusals.ts';
import type { ProvisioningState } from '../../ports/provider/call.ts';
import type { PoolModel, ProviderNode, ProviderPool } from '../../ports/provider/pools.ts';
import { type Cloud, isoTime, stillThere } from './cloud.ts';
import { diskName, machineError, machineState } from './machine-rows.ts';
import { readModel } from './models.ts';
import type { MachineRow, PoolRow } from './rows.ts';
import type { World } from './state-file.ts';

export function findPool(world: World, name: string): PoolRow | undefined {
  return world.get<PoolRow>(`SELECT * FROM pool WHERE name = ? AND ${stillThere}`, name, world.time());
}

/** Returns the pool. Refused if there is none and, retryable, if it is being deleted. */
export function requirePool(world: World, name: string): PoolRow {
  const found = findPool(world, name);
  if (found === undefined) throw notFound(`There is no pool ${name}.`);
  if (found.deletedAt !== null) throw busy(`Pool ${name} is being deleted.`);
  return found;
}

export function findNode(world: World, pool: string, name: string): MachineRow | undefined {
  return world.get<MachineRow>(
    `SELECT * FROM machine WHERE pool = ? AND name = ? AND ${stillThere}`,
    pool,
    name,
    world.time(),
  );
}

/** Returns the node of a pool, neither of them being deleted. */
export function requireNode(world: World, pool: string, name: string): MachineRow {
  requirePool(world, pool);
  const found = findNode(world, pool, name);
  if (found === undefined) throw notFound(`Pool ${pool} has no node ${name}.`);
  if (found.deletedAt !== null) throw busy(`Node ${name} is being deleted.`);
  return found;
}

export function toProviderPool({ world, abilities }: Cloud, row: PoolRow): ProviderPool {
  return {
    name: row.name,
    ...(abilities.regions.length === 0 ? {} : { region: row.region }),
    orchestration: row.orchestration,
    model: readModel(world, row.model),
    capacity: row.capacity,
    state: poolState(world, row),
    etag: String(row.etag),
  };
}

function poolState(world: World, row: PoolRow): ProvisioningState {
  if (row.deletedAt !== null) return 'deleting';
  const now = world.time();
  const made = row.madeAt !== null && now >= row.madeAt;
  const changing = row.busyUntil === null ? hasChangingNodes(world, row.name) : !made || now < row.busyUntil;
  if (!changing) return 'ready';
  return made ? 'updating' : 'creating';
}

function hasChangingNodes(world: World, pool: string): boolean {
  const found = world.get(
    `SELECT 1 FROM machine WHERE pool = ? AND (busyWith = 'creating' OR deletedAt IS NOT NULL) LIMIT 1`,
    pool,
  );
  return found !== undefined;
}

/** Marks the pools whose first nodes were all made, or failed, where that follows from the nodes. */
export function markMadePools(world: World): void {
  world.run(
    `UPDATE pool SET madeAt = ? WHERE madeAt IS NULL
     AND NOT EXISTS (SELECT 1 FROM machine m WHERE m.pool = pool.name AND busyWith = 'creating')`,
    world.time(),
  );
}

/** Deletes the rows of pools that are being deleted, with their last node where the end is not known before. */
export function forgetEmptyPools(world: World): void {
  world.run(
    `DELETE FROM pool WHERE deletedAt IS NOT NULL AND goneAt IS NULL
     AND NOT EXISTS (SELECT 1 FROM machine m WHERE m.pool = pool.name)`,
  );
}

/** Deletes the rows of machines and pools that are gone by now. */
export function forgetGoneMachines(world: World): void {
  world.run('DELETE FROM machine WHERE goneAt <= ?', world.time());
  world.run('DELETE FROM pool WHERE goneAt <= ?', world.time());
}

/** Returns a function that reads nodes of one pool, and each model only once. */
export function nodeReader({ world, executor }: Cloud, pool: PoolRow): (row: MachineRow) => ProviderNode {
  const now = world.time();
  const models = new Map<string, PoolModel>();
  function modelOf(hash: string): PoolModel {
    const model = models.get(hash) ?? readModel(world, hash);
    models.set(hash, model);
    return model;
  }
  return (row) => {
    const { image, version, digest } = modelOf(row.diskModel ?? '');
    const error = machineError(row, now);
    return {
      name: row.name,
      pool: pool.name,
      machineId: row.machineId,
      power: executor.power(row),
      state: machineState(row, now),
      image,
      version,
      digest,
      latestModelApplied: row.appliedModel === pool.model,
      protection: { fromScaleIn: row.protectScaleIn === 1, fromPoolActions: row.protectActions === 1 },
      createdAt: isoTime(row.createdAt),
      imagedAt: isoTime(row.imagedAt),
      ...(row.disk > 0 ? { osDisk: diskName(row) } : {}),
      ...(row.zone === null ? {} : { zone: row.zone }),
      ...executor.observe(row),
      ...(error === undefined ? {} : { error }),
    };
  };
}
