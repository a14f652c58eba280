// More and fewer nodes: what each is made from, and which go.

import { conflict } from '../../domain/error/refusals.ts';
import { nodeName } from '../../domain/node/node.ts';
import type { ProvisioningError } from '../../ports/provider/call.ts';
import type { Bend, Cloud } from '../state/cloud.ts';
import { isGeneralized } from '../state/gallery-rows.ts';
import { createMachineRow } from '../state/machine-rows.ts';
import { readModel } from '../state/models.ts';
import { forgetGoneMachines } from '../state/pool-rows.ts';
import type { DiskContent, MachineRow, PoolRow } from '../state/rows.ts';
import { usableVersion } from '../state/version-source.ts';

interface Scaled {
  readonly machineIds: readonly string[];
  readonly until: number | null;
}

/** Gives the pool this many nodes, without those that are being deleted. Returns the machines that it changed. */
export function scalePool(cloud: Cloud, pool: PoolRow, capacity: number, bend: Bend): readonly string[] {
  const { world } = cloud;
  forgetGoneMachines(world);
  const live = world.get<{ count: number }>(
    'SELECT count(*) AS count FROM machine WHERE pool = ? AND deletedAt IS NULL',
    pool.name,
  );
  const missing = capacity - (live?.count ?? 0);
  const { machineIds, until } =
    missing > 0 ? addNodes(cloud, pool, missing, bend) : takeNodes(cloud, pool, -missing, bend);
  world.update(
    'pool',
    { name: pool.name },
    {
      capacity,
      etag: pool.etag + 1,
      nextOrdinal: pool.nextOrdinal + Math.max(0, missing),
      busyUntil: later(pool.busyUntil, until),
    },
  );
  return machineIds;
}

/** Returns the later of two ends; unknown if one of them is. */
export function later(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : Math.max(a, b);
}

/** Machines that start from the same copies of a version wait for each other in batches. */
function addNodes(cloud: Cloud, pool: PoolRow, count: number, bend: Bend): Scaled {
  const { world, executor, limits, zones } = cloud;
  const model = readModel(world, pool.model);
  const source = modelSource(cloud, pool);
  if (!('code' in source)) executor.requireRoom(count, model.size);
  const batch = ('replicas' in source ? source.replicas : 1) * (limits.startsPerReplica ?? count);
  const idOf = executor.machineIds('node');
  const common = {
    ...{ pool: pool.name, region: pool.region, spec: null, firmware: 'direct' as const },
    generalized: Number(isGeneralized(cloud, model)),
  };
  const rows = Array.from({ length: count }, (_, index): MachineRow => {
    const ordinal = pool.nextOrdinal + index;
    const name = nameOf(cloud, pool, ordinal);
    const zone = zones[ordinal % zones.length] ?? null;
    const machineId = idOf(name);
    const imaging = {
      kind: 'nodeCreate',
      source,
      model: pool.model,
      batch: Math.floor(index / batch),
      bend,
    } as const;
    return createMachineRow(cloud, { ...common, machineId, name, ordinal, zone }, imaging);
  });
  return {
    machineIds: rows.map(({ machineId }) => machineId),
    until: rows.reduce<number | null>((until, { readyAt }) => later(until, readyAt), world.time()),
  };
}

/** The last nodes that were created go first, and never one that is protected. */
function takeNodes({ world, executor }: Cloud, pool: PoolRow, count: number, bend: Bend): Scaled {
  if (count === 0) return { machineIds: [], until: world.time() };
  const until = executor.endOf('nodeDelete', pool.name, bend);
  const taken = world.all<{ machineId: string }>(
    `UPDATE machine SET deletedAt = ?, goneAt = ? WHERE machineId IN (
       SELECT machineId FROM machine
       WHERE pool = ? AND deletedAt IS NULL AND protectScaleIn = 0 AND protectActions = 0
       ORDER BY ordinal DESC LIMIT ?) RETURNING machineId`,
    world.time(),
    until,
    pool.name,
    count,
  );
  if (taken.length === count) return { machineIds: taken.map(({ machineId }) => machineId), until };
  throw conflict(
    `Pool ${pool.name} has only ${taken.length} nodes that are not protected, and ${count} would have to go.`,
  );
}

/** Returns what nodes of the pool's model are made from, or why none can be made now. */
export function modelSource(
  cloud: Cloud,
  pool: PoolRow,
): (DiskContent & { readonly replicas: number }) | ProvisioningError {
  const model = readModel(cloud.world, pool.model);
  return (
    usableVersion(cloud, model, pool.region) ?? {
      code: 'GalleryImageNotFound',
      message: `The gallery no longer has ${model.image}:${model.version} in ${pool.region}.`,
    }
  );
}

/** Names are numbered in a uniform pool. In a flexible one they are scattered, and never equal. */
function nameOf({ nodeNumberRadix }: Cloud, { name, orchestration }: PoolRow, ordinal: number): string {
  if (orchestration === 'flexible') return nodeName(name, (ordinal * 612_053_011 + 123_456_789) % 36 ** 6);
  return nodeNumberRadix === 36 ? nodeName(name, ordinal) : `${name}-${String(ordinal).padStart(6, '0')}`;
}
