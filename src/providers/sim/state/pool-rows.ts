// Pools and their nodes as they are stored, and what they look like at a moment.

import { isoTime } from '../../../cloud/state/cloud.ts';
import { readModel } from '../../../cloud/state/models.ts';
import { busy, notFound } from '../../../cloud/state/refusals.ts';
import type { World } from '../../../cloud/state/state-file.ts';
import type { ProvisioningState } from '../../../ports/provider/call.ts';
import type { Orchestration, PoolModel, ProviderNode, ProviderPool } from '../../../ports/provider/pools.ts';
import type { SimContext } from '../world/context.ts';
import { healthOf } from './boot.ts';
import { diskName, type MachineColumns, machineError, machinePower, machineState } from './machine-rows.ts';

export interface PoolRow {
  readonly name: string;
  readonly region: string;
  readonly orchestration: Orchestration;
  /** The hash of its model; models are kept for the nodes that were made from them. */
  readonly model: string;
  readonly capacity: number;
  readonly etag: number;
  readonly nextOrdinal: number;
  /** When its first nodes are ready. */
  readonly madeAt: number;
  readonly busyUntil: number;
  readonly createdAt: number;
  readonly goneAt: number | null;
}

export interface NodeRow extends MachineColumns {
  readonly pool: string;
  readonly name: string;
  readonly ordinal: number;
  readonly zone: string | null;
  /** The model that its disk was made from, and the one that it was last brought to. */
  readonly diskModel: string;
  readonly appliedModel: string;
  readonly protectScaleIn: number;
  readonly protectActions: number;
  /** Its own document, when it was given one, and when; with the one that was in force then. */
  readonly userData: string | null;
  readonly userDataBefore: string | null;
  readonly userDataAt: number | null;
}

export function findPool(world: World, name: string): PoolRow | undefined {
  return world.get<PoolRow>(
    'SELECT * FROM pool WHERE name = ? AND (goneAt IS NULL OR goneAt > ?)',
    name,
    world.time(),
  );
}

/** The pool, refused when there is none and, retryable, when it is being deleted. */
export function requirePool(world: World, name: string): PoolRow {
  const found = findPool(world, name);
  if (found === undefined) throw notFound(`There is no pool ${name}.`);
  if (found.goneAt !== null) throw busy(`Pool ${name} is being deleted.`);
  return found;
}

export function findNode(world: World, pool: string, name: string): NodeRow | undefined {
  return world.get<NodeRow>(
    'SELECT * FROM node WHERE pool = ? AND name = ? AND (goneAt IS NULL OR goneAt > ?)',
    pool,
    name,
    world.time(),
  );
}

/** The node of a pool that is not being deleted. */
export function requireNode(world: World, pool: string, name: string): NodeRow {
  requirePool(world, pool);
  const found = findNode(world, pool, name);
  if (found === undefined) throw notFound(`Pool ${pool} has no node ${name}.`);
  if (found.goneAt !== null) throw busy(`Node ${name} is being deleted.`);
  return found;
}

export function toProviderPool({ world, abilities }: SimContext, row: PoolRow): ProviderPool {
  return {
    name: row.name,
    ...(abilities.regions.length === 0 ? {} : { region: row.region }),
    orchestration: row.orchestration,
    model: readModel(world, row.model),
    capacity: row.capacity,
    state: poolState(row, world.time()),
    etag: String(row.etag),
  };
}

function poolState(row: PoolRow, now: number): ProvisioningState {
  if (row.goneAt !== null) return 'deleting';
  if (now < row.madeAt) return 'creating';
  return now < row.busyUntil ? 'updating' : 'ready';
}

/** Reads nodes of one pool, and each model only once. */
export function nodeReader(context: SimContext, pool: PoolRow): (row: NodeRow) => ProviderNode {
  const { world } = context;
  const now = world.time();
  const models = new Map<string, PoolModel>();
  function modelOf(hash: string): PoolModel {
    const model = models.get(hash) ?? readModel(world, hash);
    models.set(hash, model);
    return model;
  }
  return (row) => {
    const { image, version, digest } = modelOf(row.diskModel);
    const error = machineError(row, now);
    return {
      name: row.name,
      pool: row.pool,
      machineId: row.machineId,
      power: machinePower(row, now),
      state: machineState(row, now),
      image,
      version,
      digest,
      latestModelApplied: row.appliedModel === pool.model,
      protection: { fromScaleIn: row.protectScaleIn === 1, fromPoolActions: row.protectActions === 1 },
      createdAt: isoTime(row.createdAt),
      imagedAt: isoTime(row.imagedAt),
      ...(row.hasDisk === 1 ? { osDisk: diskName(row) } : {}),
      ...(row.zone === null ? {} : { zone: row.zone }),
      health: healthOf(context, row),
      ...(error === undefined ? {} : { error }),
    };
  };
}
