// Pools and their nodes as they are stored, and as the role shows them.

import { isoTime } from '../../../cloud/state/cloud.ts';
import { readModel } from '../../../cloud/state/models.ts';
import { busy, notFound } from '../../../cloud/state/refusals.ts';
import type { World } from '../../../cloud/state/state-file.ts';
import type { ProvisioningState } from '../../../ports/provider/call.ts';
import type { Orchestration, PoolModel, ProviderNode, ProviderPool } from '../../../ports/provider/pools.ts';
import type { LocalContext } from './context.ts';
import { machineHealth } from './machine-health.ts';
import { diskName, type MachineRow, machineError, machinePower, machineState } from './machine-rows.ts';

export interface PoolRow {
  readonly name: string;
  readonly orchestration: Orchestration;
  /** The hash of its model; models are kept for the nodes that were made from them. */
  readonly model: string;
  readonly capacity: number;
  readonly etag: number;
  readonly nextOrdinal: number;
  /** Its first nodes were all made, or failed. */
  readonly made: number;
  readonly createdAt: number;
  readonly deleting: number;
}

export function findPool(world: World, name: string): PoolRow | undefined {
  return world.get<PoolRow>('SELECT * FROM pool WHERE name = ?', name);
}

/** The pool, refused when there is none and, retryable, when it is being deleted. */
export function requirePool(world: World, name: string): PoolRow {
  const found = findPool(world, name);
  if (found === undefined) throw notFound(`There is no pool ${name}.`);
  if (found.deleting === 1) throw busy(`Pool ${name} is being deleted.`);
  return found;
}

export function findNode(world: World, pool: string, name: string): MachineRow | undefined {
  return world.get<MachineRow>('SELECT * FROM machine WHERE pool = ? AND name = ?', pool, name);
}

/** The node of a pool, neither of them being deleted. */
export function requireNode(world: World, pool: string, name: string): MachineRow {
  requirePool(world, pool);
  const found = findNode(world, pool, name);
  if (found === undefined) throw notFound(`Pool ${pool} has no node ${name}.`);
  if (found.deleting === 1) throw busy(`Node ${name} is being deleted.`);
  return found;
}

export function toProviderPool({ world }: LocalContext, row: PoolRow): ProviderPool {
  return {
    name: row.name,
    orchestration: row.orchestration,
    model: readModel(world, row.model),
    capacity: row.capacity,
    state: poolState(world, row),
    etag: String(row.etag),
  };
}

/** It changes for as long as nodes come or go. */
function poolState(world: World, row: PoolRow): ProvisioningState {
  if (row.deleting === 1) return 'deleting';
  const moving = world.get(
    `SELECT 1 FROM machine WHERE pool = ? AND (busyWith = 'creating' OR deleting = 1) LIMIT 1`,
    row.name,
  );
  if (moving === undefined) return 'ready';
  return row.made === 1 ? 'updating' : 'creating';
}

/** From then on it is changed, not made. */
export function markMadePools(world: World): void {
  world.run(
    `UPDATE pool SET made = 1 WHERE made = 0
     AND NOT EXISTS (SELECT 1 FROM machine m WHERE m.pool = pool.name AND busyWith = 'creating')`,
  );
}

/** Reads nodes of one pool, and each model only once. */
export function nodeReader(context: LocalContext, pool: PoolRow): (row: MachineRow) => ProviderNode {
  const models = new Map<string, PoolModel>();
  function modelOf(hash: string): PoolModel {
    const model = models.get(hash) ?? readModel(context.world, hash);
    models.set(hash, model);
    return model;
  }
  return (row) => {
    const { image, version, digest } = modelOf(row.diskModel ?? '');
    const error = machineError(row);
    const { forwards = [], address } = context.board.status(row.machineId) ?? {};
    const power = machinePower(context, row);
    return {
      name: row.name,
      pool: pool.name,
      machineId: row.machineId,
      power,
      state: machineState(row),
      image,
      version,
      digest,
      latestModelApplied: row.appliedModel === pool.model,
      protection: { fromScaleIn: row.protectScaleIn === 1, fromPoolActions: row.protectActions === 1 },
      createdAt: isoTime(row.createdAt),
      imagedAt: isoTime(row.imagedAt),
      ...(row.disk > 0 ? { osDisk: diskName(row) } : {}),
      ...machineHealth(context, row),
      ...(power === 'running' && forwards.length > 0 ? { forwards } : {}),
      ...(power === 'running' && address !== undefined ? { address } : {}),
      ...(error === undefined ? {} : { error }),
    };
  };
}
