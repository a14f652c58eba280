// More and fewer nodes: who is made when, and who goes.

import type { Bend } from '../../../cloud/state/cloud.ts';
import { readModel } from '../../../cloud/state/models.ts';
import { conflict } from '../../../cloud/state/refusals.ts';
import { usableVersion } from '../../../cloud/state/version-source.ts';
import type { ProvisioningError } from '../../../ports/provider/call.ts';
import { type DiskSource, imagedFirst } from '../state/machine-rows.ts';
import type { PoolRow } from '../state/pool-rows.ts';
import { endOf, machineIdOf, nextSerial, type SimContext } from '../world/context.ts';

const zones = ['1', '2', '3'];

/** Makes the pool have so many nodes; what was being deleted does not count. */
export function scalePool(context: SimContext, pool: PoolRow, capacity: number, bend: Bend): void {
  const { world } = context;
  forgetGoneNodes(context);
  const live = world.get<{ count: number }>(
    'SELECT count(*) AS count FROM node WHERE pool = ? AND goneAt IS NULL',
    pool.name,
  );
  const missing = capacity - (live?.count ?? 0);
  const until =
    missing > 0 ? addNodes(context, pool, missing, bend) : takeNodes(context, pool, -missing, bend);
  world.run(
    `UPDATE pool SET capacity = ?, etag = etag + 1, nextOrdinal = nextOrdinal + ?,
       busyUntil = max(busyUntil, ?) WHERE name = ?`,
    capacity,
    Math.max(0, missing),
    until,
    pool.name,
  );
}

/** Until when it takes. Machines that start from the same copies of a version wait for each other in batches. */
function addNodes(context: SimContext, pool: PoolRow, count: number, bend: Bend): number {
  const { world, limits } = context;
  const now = world.time();
  const source = modelSource(context, pool);
  const batch =
    ('replicas' in source ? source.replicas : 1) * (limits.startsPerReplica ?? Number.POSITIVE_INFINITY);
  const serial = nextSerial(world);
  let until = now;
  for (let index = 0; index < count; index++) {
    const ordinal = pool.nextOrdinal + index;
    const name = nodeName(pool, ordinal);
    const waits = Math.floor(index / batch) * context.durationOf('nodeBatch', pool.name);
    const columns = imagedFirst(context, { kind: 'nodeCreate', name, source, waits, bend });
    until = Math.max(until, columns.readyAt);
    world.insert('node', {
      pool: pool.name,
      name,
      ordinal,
      zone: zones[ordinal % zones.length] ?? null,
      diskModel: pool.model,
      appliedModel: pool.model,
      protectScaleIn: 0,
      protectActions: 0,
      machineId: machineIdOf(world, 'node', name, serial),
      createdAt: now,
      ...columns,
    });
  }
  return until;
}

/** The last ones made go first, and never one that is protected. */
function takeNodes(context: SimContext, pool: PoolRow, count: number, bend: Bend): number {
  const { world } = context;
  if (count === 0) return world.time();
  const until = endOf(context, 'nodeDelete', pool.name, bend);
  const taken = world.run(
    `UPDATE node SET goneAt = ? WHERE pool = ? AND name IN (
       SELECT name FROM node WHERE pool = ? AND goneAt IS NULL AND protectScaleIn = 0 AND protectActions = 0
       ORDER BY ordinal DESC LIMIT ?)`,
    until,
    pool.name,
    pool.name,
    count,
  );
  if (taken === count) return until;
  throw conflict(
    `Pool ${pool.name} has only ${taken} nodes that are not protected, and ${count} would have to go.`,
  );
}

/** What nodes of the pool's model are made from, or why none can be made now. */
export function modelSource(context: SimContext, pool: PoolRow): DiskSource & { readonly replicas?: number } {
  const model = readModel(context.world, pool.model);
  return usableVersion(context, model, pool.region) ?? missingImage(model, pool.region);
}

function missingImage(
  model: { readonly image: string; readonly version: string },
  region: string,
): ProvisioningError {
  return {
    code: 'GalleryImageNotFound',
    message: `The gallery does not have ${model.image}:${model.version} in ${region} any more.`,
  };
}

/** Numbered in a uniform pool. In a flexible one scattered, without ever meeting. */
function nodeName(pool: PoolRow, ordinal: number): string {
  if (pool.orchestration === 'uniform') return `${pool.name}-${String(ordinal).padStart(6, '0')}`;
  const scattered = (ordinal * 612_053_011 + 123_456_789) % 36 ** 6;
  return `${pool.name}-${scattered.toString(36).padStart(6, '0')}`;
}

export function forgetGoneNodes({ world }: SimContext): void {
  world.run('DELETE FROM node WHERE goneAt <= ?', world.time());
}
