// Simulated pools: a model that new nodes come from, and a capacity that others may change too.

import { change, look } from '../../../cloud/state/call.ts';
import type { Bend } from '../../../cloud/state/cloud.ts';
import { regionNamed } from '../../../cloud/state/cloud.ts';
import { countRows, findImage } from '../../../cloud/state/gallery-rows.ts';
import { keepModel, readModel, sameModel } from '../../../cloud/state/models.ts';
import { pageOf, rowsFor } from '../../../cloud/state/paging.ts';
import { busy, checkLimit, conflict, invalid, lacks, notFound } from '../../../cloud/state/refusals.ts';
import { usableVersion } from '../../../cloud/state/version-source.ts';
import { checkName } from '../../../domain/value/name.ts';
import type { PoolModel, PoolSpec, Pools, WriteCondition } from '../../../ports/provider/pools.ts';
import { findPool, type PoolRow, requirePool, toProviderPool } from '../state/pool-rows.ts';
import { endOf, type SimContext } from '../world/context.ts';
import { simNodes } from './nodes.ts';
import { forgetGoneNodes, scalePool } from './scaling.ts';

export function simPools(context: SimContext): Pools {
  const { world } = context;
  return {
    createPool: (spec, options) =>
      change(context, `pool ${spec.name}`, options, (bend) => createPool(context, spec, bend)),
    getPool: (name, options) =>
      look(context, options, () => {
        const row = findPool(world, name);
        return row && toProviderPool(context, row);
      }),
    listPools: (query, options) =>
      look(context, options, () => {
        const rows = world.all<PoolRow>(
          'SELECT * FROM pool WHERE name > ? AND (goneAt IS NULL OR goneAt > ?) ORDER BY name LIMIT ?',
          query.cursor ?? '',
          world.time(),
          rowsFor(query),
        );
        return pageOf(
          query,
          rows,
          (row) => row.name,
          (row) => toProviderPool(context, row),
        );
      }),
    setModel: (pool, model, condition, options) =>
      change(context, `pool ${pool}`, options, (bend) => setModel(context, pool, model, condition, bend)),
    setCapacity: (pool, capacity, condition, options) =>
      change(context, `pool ${pool}`, options, (bend) =>
        setCapacity(context, pool, capacity, condition, bend),
      ),
    deletePool: (name, options) =>
      change(context, `pool ${name}`, options, (bend) => deletePool(context, name, bend)),
    ...simNodes(context),
  };
}

function createPool(context: SimContext, spec: PoolSpec, bend: Bend): void {
  const { world, limits } = context;
  checkName('pool', spec.name);
  checkCapacity(context, spec.capacity);
  if (!context.abilities.orchestration.includes(spec.orchestration)) {
    throw lacks(`The provider has no ${spec.orchestration} pools.`);
  }
  const region = regionNamed(context, spec.region);
  const found = findPool(world, spec.name);
  if (found !== undefined) {
    checkSamePool(context, found, spec, region);
    return;
  }
  requireVersion(context, spec.model, region);
  forgetGonePools(context);
  checkLimit('pools', countRows(world, 'pool') + 1, limits.pools);
  const pool: PoolRow = {
    name: spec.name,
    region,
    orchestration: spec.orchestration,
    model: keepModel(world, spec.model),
    capacity: 0,
    etag: 0,
    nextOrdinal: 0,
    madeAt: endOf(context, 'poolModel', spec.name, bend),
    busyUntil: world.time(),
    createdAt: world.time(),
    goneAt: null,
  };
  world.insert('pool', { ...pool });
  scalePool(context, pool, spec.capacity, bend);
  world.run('UPDATE pool SET madeAt = max(madeAt, busyUntil) WHERE name = ?', spec.name);
}

function checkSamePool({ world }: SimContext, found: PoolRow, spec: PoolSpec, region: string): void {
  if (found.goneAt !== null) throw busy(`Pool ${spec.name} is being deleted.`);
  if (found.orchestration !== spec.orchestration) {
    throw conflict(`Pool ${spec.name} is ${found.orchestration}, which is fixed.`);
  }
  if (found.region !== region) throw conflict(`Pool ${spec.name} stands in ${found.region}, which is fixed.`);
  if (!sameModel(readModel(world, found.model), spec.model)) {
    throw conflict(`Pool ${spec.name} exists with another model.`);
  }
}

function setModel(
  context: SimContext,
  name: string,
  model: PoolModel,
  condition: WriteCondition,
  bend: Bend,
): void {
  const { world } = context;
  const pool = requirePool(world, name);
  const before = readModel(world, pool.model);
  if (sameModel(before, model)) return;
  checkEtag(pool, condition);
  requireVersion(context, model, pool.region);
  if (osStateOf(context, before) !== osStateOf(context, model)) {
    throw conflict(
      `The image of pool ${name} cannot go from ${osStateOf(context, before)} to the other kind.`,
    );
  }
  if (bend.failure !== undefined) return;
  world.run(
    'UPDATE pool SET model = ?, etag = etag + 1, busyUntil = max(busyUntil, ?) WHERE name = ?',
    keepModel(world, model),
    endOf(context, 'poolModel', `${name}/${model.version}`, bend),
    name,
  );
}

export function setCapacity(
  context: SimContext,
  name: string,
  capacity: number,
  condition: WriteCondition,
  bend: Bend,
): void {
  checkCapacity(context, capacity);
  const pool = requirePool(context.world, name);
  if (pool.capacity === capacity) return;
  checkEtag(pool, condition);
  scalePool(context, pool, capacity, bend);
}

function deletePool(context: SimContext, name: string, bend: Bend): void {
  const { world } = context;
  const pool = findPool(world, name);
  if (pool === undefined || pool.goneAt !== null || bend.failure !== undefined) return;
  const goneAt = endOf(context, 'poolDelete', name, bend);
  world.run('UPDATE pool SET goneAt = ? WHERE name = ?', goneAt, name);
  world.run('UPDATE node SET goneAt = min(ifnull(goneAt, ?1), ?1) WHERE pool = ?2', goneAt, name);
}

function osStateOf({ world, defaultGallery }: SimContext, model: PoolModel): string {
  return findImage(world, model.gallery ?? defaultGallery, model.image)?.osState ?? 'generalized';
}

function requireVersion(context: SimContext, model: PoolModel, region: string): void {
  if (usableVersion(context, model, region) !== undefined) return;
  const gallery = model.gallery ?? context.defaultGallery;
  throw notFound(`Gallery ${gallery} does not have ${model.image}:${model.version}, ready, in ${region}.`);
}

function checkCapacity({ limits }: SimContext, capacity: number): void {
  if (!Number.isInteger(capacity) || capacity < 0) {
    throw invalid(`A pool's capacity must be a whole number from 0, not ${capacity}.`);
  }
  checkLimit('nodes in a pool', capacity, limits.nodesPerPool);
}

function checkEtag(pool: PoolRow, { ifMatch }: WriteCondition): void {
  if (ifMatch === undefined || ifMatch === String(pool.etag)) return;
  throw conflict(`Pool ${pool.name} was changed by someone else: its etag is ${pool.etag}, not ${ifMatch}.`);
}

function forgetGonePools(context: SimContext): void {
  forgetGoneNodes(context);
  context.world.run('DELETE FROM pool WHERE goneAt <= ?', context.world.time());
}
