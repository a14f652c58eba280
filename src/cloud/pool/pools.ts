// Pools: a model that new nodes come from, and a capacity that others may change too.

import { busy, checkLimit, conflict, invalid, lacks, notFound } from '../../domain/error/refusals.ts';
import { checkName } from '../../domain/value/name.ts';
import type { PoolModel, PoolSpec, Pools, WriteCondition } from '../../ports/provider/pools.ts';
import { change, look } from '../state/call.ts';
import { type Bend, type Cloud, regionNamed, stillThere } from '../state/cloud.ts';
import { countRows, isGeneralized } from '../state/gallery-rows.ts';
import { keepModel, readModel, sameModel } from '../state/models.ts';
import { pageByName } from '../state/paging.ts';
import {
  findPool,
  forgetEmptyPools,
  forgetGoneMachines,
  requirePool,
  toProviderPool,
} from '../state/pool-rows.ts';
import type { PoolRow } from '../state/rows.ts';
import { usableVersion } from '../state/version-source.ts';
import { poolNodes } from './nodes.ts';
import { later, scalePool } from './scaling.ts';

export function cloudPools(cloud: Cloud): Pools {
  const { world, executor } = cloud;
  return {
    createPool: async (spec, options) =>
      executor.workOnMachines(
        await change(cloud, `pool ${spec.name}`, options, (bend) => createPool(cloud, spec, bend)),
      ),
    getPool: (name, options) =>
      look(cloud, options, () => {
        const row = findPool(world, name);
        return row && toProviderPool(cloud, row);
      }),
    listPools: (query, options) =>
      look(cloud, options, () =>
        pageByName(world, query, `pool WHERE ${stillThere}`, [world.time()], (row: PoolRow) =>
          toProviderPool(cloud, row),
        ),
      ),
    setModel: (pool, model, condition, options) =>
      change(cloud, `pool ${pool}`, options, (bend) => setModel(cloud, pool, model, condition, bend)),
    setCapacity: async (pool, capacity, condition, options) =>
      executor.workOnMachines(
        await change(cloud, `pool ${pool}`, options, (bend) =>
          setCapacity(cloud, pool, capacity, condition, bend),
        ),
      ),
    deletePool: async (name, options) =>
      executor.workOnMachines(
        await change(cloud, `pool ${name}`, options, (bend) => deletePool(cloud, name, bend)),
      ),
    ...poolNodes(cloud),
  };
}

/** Returns the machines that were created. */
function createPool(cloud: Cloud, spec: PoolSpec, bend: Bend): readonly string[] {
  const { world, limits, executor } = cloud;
  checkName('pool', spec.name);
  checkCapacity(cloud, spec.capacity);
  if (!cloud.abilities.orchestration.includes(spec.orchestration)) {
    throw lacks(`The provider has no ${spec.orchestration} pools.`);
  }
  const region = regionNamed(cloud, spec.region);
  const found = findPool(world, spec.name);
  if (found !== undefined) {
    checkSamePool(cloud, found, spec, region);
    return [];
  }
  checkModel(cloud, spec.model, region);
  forgetGoneMachines(world);
  checkLimit('pools', countRows(world, 'pool') + 1, limits.pools);
  const madeAt = executor.endOf('poolModel', spec.name, bend);
  const pool: PoolRow = {
    ...{ name: spec.name, region, orchestration: spec.orchestration },
    model: keepModel(world, spec.model),
    ...{ capacity: 0, etag: 0, nextOrdinal: 0, madeAt },
    busyUntil: madeAt === null ? null : world.time(),
    ...{ createdAt: world.time(), deletedAt: null, goneAt: null },
  };
  world.insert('pool', pool);
  const created = scalePool(cloud, pool, spec.capacity, bend);
  world.run('UPDATE pool SET madeAt = max(madeAt, busyUntil) WHERE name = ?', spec.name);
  return created;
}

function checkSamePool({ world }: Cloud, found: PoolRow, spec: PoolSpec, region: string): void {
  if (found.deletedAt !== null) throw busy(`Pool ${spec.name} is being deleted.`);
  if (found.orchestration !== spec.orchestration) {
    throw conflict(`Pool ${spec.name} is ${found.orchestration}, which is fixed.`);
  }
  if (found.region !== region) throw conflict(`Pool ${spec.name} is in ${found.region}, which is fixed.`);
  if (!sameModel(readModel(world, found.model), spec.model)) {
    throw conflict(`Pool ${spec.name} exists with another model.`);
  }
}

function setModel(cloud: Cloud, name: string, model: PoolModel, condition: WriteCondition, bend: Bend): void {
  const { world, executor } = cloud;
  const pool = requirePool(world, name);
  const before = readModel(world, pool.model);
  if (sameModel(before, model)) return;
  checkEtag(pool, condition);
  checkModel(cloud, model, pool.region);
  if (isGeneralized(cloud, before) !== isGeneralized(cloud, model)) {
    throw conflict(`The image of pool ${name} cannot change between generalized and specialized.`);
  }
  if (bend.failure !== undefined) return;
  world.update(
    'pool',
    { name },
    {
      model: keepModel(world, model),
      etag: pool.etag + 1,
      busyUntil: later(pool.busyUntil, executor.endOf('poolModel', `${name}/${model.version}`, bend)),
    },
  );
}

/** Returns the machines that were created, or are to go. */
export function setCapacity(
  cloud: Cloud,
  name: string,
  capacity: number,
  condition: WriteCondition,
  bend: Bend,
): readonly string[] {
  checkCapacity(cloud, capacity);
  const pool = requirePool(cloud.world, name);
  if (pool.capacity === capacity) return [];
  checkEtag(pool, condition);
  return scalePool(cloud, pool, capacity, bend);
}

/** Returns the machines that are to go. */
function deletePool({ world, executor }: Cloud, name: string, bend: Bend): readonly string[] {
  const pool = findPool(world, name);
  if (pool === undefined || pool.deletedAt !== null || bend.failure !== undefined) return [];
  const goneAt = executor.endOf('poolDelete', name, bend);
  world.update('pool', { name }, { deletedAt: world.time(), goneAt });
  const machines = world.all<{ machineId: string }>(
    `UPDATE machine SET deletedAt = ifnull(deletedAt, ?1), goneAt = min(ifnull(goneAt, ?2), ?2)
     WHERE pool = ?3 RETURNING machineId`,
    world.time(),
    goneAt,
    name,
  );
  forgetEmptyPools(world);
  return machines.map(({ machineId }) => machineId);
}

function checkModel(cloud: Cloud, model: PoolModel, region: string): void {
  cloud.executor.checkSize(model.size);
  if (usableVersion(cloud, model, region) !== undefined) return;
  const gallery = model.gallery ?? cloud.defaultGallery;
  throw notFound(`Gallery ${gallery} does not have ${model.image}:${model.version}, ready, in ${region}.`);
}

function checkCapacity({ limits }: Cloud, capacity: number): void {
  if (!Number.isInteger(capacity) || capacity < 0) {
    throw invalid(`A pool's capacity must be a whole number from 0, not ${capacity}.`);
  }
  checkLimit('nodes in a pool', capacity, limits.nodesPerPool);
}

function checkEtag(pool: PoolRow, { ifMatch }: WriteCondition): void {
  if (ifMatch === undefined || ifMatch === String(pool.etag)) return;
  throw conflict(`Pool ${pool.name} was changed by someone else: its etag is ${pool.etag}, not ${ifMatch}.`);
}
