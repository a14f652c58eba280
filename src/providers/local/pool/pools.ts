// Pools of local machines: a model that new nodes come from, and a capacity that others may change too.

import { change, look } from '../../../cloud/state/call.ts';
import { findImage } from '../../../cloud/state/gallery-rows.ts';
import { keepModel, readModel, sameModel } from '../../../cloud/state/models.ts';
import { pageOf, rowsFor } from '../../../cloud/state/paging.ts';
import { busy, conflict, invalid, notFound } from '../../../cloud/state/refusals.ts';
import { usableVersion } from '../../../cloud/state/version-source.ts';
import { checkName } from '../../../domain/value/name.ts';
import type { PoolModel, PoolSpec, Pools, WriteCondition } from '../../../ports/provider/pools.ts';
import { forgetEmptyPool } from '../machine/reconcile.ts';
import type { LocalContext } from '../state/context.ts';
import { readSize } from '../state/machine-size.ts';
import { findPool, type PoolRow, requirePool, toProviderPool } from '../state/pool-rows.ts';
import { localNodes } from './nodes.ts';
import { scalePool } from './scaling.ts';

export function localPools(context: LocalContext): Pools {
  const { world, work } = context;
  const workOn = (machines: readonly string[]) => machines.forEach(work.machine);
  return {
    createPool: async (spec, options) =>
      workOn(await change(context, `pool ${spec.name}`, options, () => createPool(context, spec))),
    getPool: (name, options) =>
      look(context, options, () => {
        const row = findPool(world, name);
        return row && toProviderPool(context, row);
      }),
    listPools: (query, options) =>
      look(context, options, () => {
        const rows = world.all<PoolRow>(
          'SELECT * FROM pool WHERE name > ? ORDER BY name LIMIT ?',
          query.cursor ?? '',
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
      change(context, `the model of pool ${pool}`, options, () => setModel(context, pool, model, condition)),
    setCapacity: async (pool, capacity, condition, options) =>
      workOn(
        await change(context, `the capacity of pool ${pool}`, options, () =>
          setCapacity(context, pool, capacity, condition),
        ),
      ),
    deletePool: async (name, options) =>
      workOn(await change(context, `the end of pool ${name}`, options, () => deletePool(context, name))),
    ...localNodes(context),
  };
}

function createPool(context: LocalContext, spec: PoolSpec): readonly string[] {
  const { world } = context;
  checkName('pool', spec.name);
  checkCapacity(spec.capacity);
  if (spec.region !== undefined) throw invalid('The local provider has no regions.');
  const found = findPool(world, spec.name);
  if (found !== undefined) {
    checkSamePool(context, found, spec);
    return [];
  }
  checkModel(context, spec.model);
  const pool: PoolRow = {
    name: spec.name,
    orchestration: spec.orchestration,
    model: keepModel(world, spec.model),
    capacity: 0,
    etag: 0,
    nextOrdinal: 0,
    made: 0,
    createdAt: world.time(),
    deleting: 0,
  };
  world.insert('pool', { ...pool });
  return scalePool(context, pool, spec.capacity);
}

function checkSamePool({ world }: LocalContext, found: PoolRow, spec: PoolSpec): void {
  if (found.deleting === 1) throw busy(`Pool ${spec.name} is being deleted.`);
  if (found.orchestration !== spec.orchestration) {
    throw conflict(`Pool ${spec.name} is ${found.orchestration}, which is fixed.`);
  }
  if (!sameModel(readModel(world, found.model), spec.model)) {
    throw conflict(`Pool ${spec.name} exists with another model.`);
  }
}

function setModel(context: LocalContext, name: string, model: PoolModel, condition: WriteCondition): void {
  const { world } = context;
  const pool = requirePool(world, name);
  const before = readModel(world, pool.model);
  if (sameModel(before, model)) return;
  checkEtag(pool, condition);
  checkModel(context, model);
  if (osStateOf(context, before) !== osStateOf(context, model)) {
    throw conflict(
      `The image of pool ${name} cannot go from ${osStateOf(context, before)} to the other kind.`,
    );
  }
  world.run('UPDATE pool SET model = ?, etag = etag + 1 WHERE name = ?', keepModel(world, model), name);
}

function setCapacity(
  context: LocalContext,
  name: string,
  capacity: number,
  condition: WriteCondition,
): readonly string[] {
  checkCapacity(capacity);
  const pool = requirePool(context.world, name);
  if (pool.capacity === capacity) return [];
  checkEtag(pool, condition);
  return scalePool(context, pool, capacity);
}

function deletePool(context: LocalContext, name: string): readonly string[] {
  const { world } = context;
  world.run('UPDATE pool SET deleting = 1 WHERE name = ?', name);
  world.run('UPDATE machine SET deleting = 1 WHERE pool = ?', name);
  const machines = world.all<{ machineId: string }>('SELECT machineId FROM machine WHERE pool = ?', name);
  forgetEmptyPool(context, name);
  return machines.map(({ machineId }) => machineId);
}

function checkModel(context: LocalContext, model: PoolModel): void {
  readSize(model.size);
  if (usableVersion(context, model, context.homeRegion) !== undefined) return;
  const gallery = model.gallery ?? context.defaultGallery;
  throw notFound(`Gallery ${gallery} does not have ${model.image}:${model.version}, ready.`);
}

function osStateOf({ world, defaultGallery }: LocalContext, model: PoolModel): string {
  return findImage(world, model.gallery ?? defaultGallery, model.image)?.osState ?? 'generalized';
}

function checkCapacity(capacity: number): void {
  if (Number.isInteger(capacity) && capacity >= 0) return;
  throw invalid(`A pool's capacity must be a whole number from 0, not ${capacity}.`);
}

function checkEtag(pool: PoolRow, { ifMatch }: WriteCondition): void {
  if (ifMatch === undefined || ifMatch === String(pool.etag)) return;
  throw conflict(`Pool ${pool.name} was changed by someone else: its etag is ${pool.etag}, not ${ifMatch}.`);
}
