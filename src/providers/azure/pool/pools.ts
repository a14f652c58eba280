// Pools: scale sets with an exact version in their model. A change of the model is a PATCH that leaves the capacity
// alone.
import { checkAzureSize } from '../../../domain/azure/sizes.ts';
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { busy, conflict, invalid, notFound } from '../../../domain/error/refusals.ts';
import { checkName } from '../../../domain/value/name.ts';
import type { CallOptions } from '../../../ports/provider/call.ts';
import type {
  PoolModel,
  PoolSpec,
  Pools,
  ProviderPool,
  WriteCondition,
} from '../../../ports/provider/pools.ts';
import { at } from '../arm/address.ts';
import { type AzureContext, stateOf } from '../context.ts';
import { listInstances, nodeRole, toNode } from './nodes.ts';
import {
  bodyOf,
  encodeConfig,
  etagOf,
  hasModel,
  imageIdOf,
  isPool,
  readSet,
  type ScaleSet,
  tagsOf,
  toPool,
} from './scale-set.ts';

const type = 'virtualMachineScaleSets';
const writeAttempts = 5;

export function azurePools(context: AzureContext): Pools {
  const { arm, listings, book } = context;
  return {
    // The disks that Imago publishes start by BIOS too, but their definition in the gallery is generation 2.
    checkSize: (size, { architecture }) => checkAzureSize(size, { architecture, generations: [2] }),
    createPool: (spec, options) => createPool(context, spec, options),
    getPool: (name, { signal }) => getPool(context, name, signal),
    async listPools(query, { signal }) {
      const page = await listings.page(
        'pools',
        query,
        async () => (await arm.list<ScaleSet>(at(type), signal)).filter(isPool).map(({ name }) => name),
        (name) => name,
      );
      const items: ProviderPool[] = [];
      for (const name of page.items) {
        const pool = await getPool(context, name, signal);
        if (pool !== undefined) items.push(pool);
      }
      return { ...page, items };
    },
    setModel: (pool, model, condition, options) => setModel(context, pool, model, condition, options),
    setCapacity: (pool, capacity, condition, options) =>
      setCapacity(context, pool, capacity, condition, options),
    async deletePool(name, { signal }) {
      signal.throwIfAborted();
      const found = await readSet(context, name, signal);
      if (found === undefined || stateOf(found.properties.provisioningState) === 'deleting') return;
      await book.note(found.id, await arm.delete(at(type, name), signal));
    },
    ...nodeRole(context),
  };
}

/** A set also shows as failed when only one of its nodes did. */
async function getPool(
  context: AzureContext,
  name: string,
  signal: AbortSignal,
): Promise<ProviderPool | undefined> {
  signal.throwIfAborted();
  const found = await readSet(context, name, signal);
  if (found === undefined) return undefined;
  const pool = toPool(found, context.ownGallery);
  if (pool.state !== 'failed') return pool;
  const instances = await listInstances(context, name, signal);
  if (instances.some((one) => toNode(name, one, '').state === 'failed')) return { ...pool, state: 'ready' };
  const error = await context.book.failureOf(context.arm, found.id, signal);
  return error === undefined ? pool : { ...pool, error };
}

async function createPool(context: AzureContext, spec: PoolSpec, { signal }: CallOptions): Promise<void> {
  const { arm, book, subnet, regions, ownGallery } = context;
  const { name, region = context.location } = spec;
  signal.throwIfAborted();
  checkName('pool', name);
  checkCapacity(spec.capacity);
  if (!regions.includes(region)) throw invalid(`Azure has no region ${region}.`);
  const found = await readSet(context, name, signal);
  if (found !== undefined) {
    const pool = toPool(found, ownGallery);
    if (pool.state === 'deleting') throw busy(`Pool ${name} is being deleted.`);
    const isSame =
      isPool(found) &&
      pool.region === region &&
      pool.orchestration === spec.orchestration &&
      hasModel(found, spec.model, ownGallery);
    if (isSame) return;
    throw conflict(`A scale set ${name} exists with another model, region or orchestration.`);
  }
  if (subnet === undefined) {
    throw new ImagoError('provider-lacks', 'There is no network for the nodes of a new pool.', {
      hint: 'Set azure-subnet to the id of a subnet with `imago config set`, then restart the daemon.',
    });
  }
  const started = await arm.put<ScaleSet>(at(type, name), bodyOf(context, spec, subnet), signal);
  await book.note(arm.idOf(at(type, name)), started);
}

function setModel(
  context: AzureContext,
  name: string,
  model: PoolModel,
  condition: WriteCondition,
  { signal }: CallOptions,
): Promise<void> {
  return rewrite(context, name, condition, signal, async (found) => {
    if (hasModel(found, model, context.ownGallery)) return undefined;
    requireManual(found);
    const isOtherSize = found.sku?.name !== model.size;
    return {
      tags: tagsOf(model, found.tags),
      ...(isOtherSize ? { sku: { ...found.sku, name: model.size } } : {}),
      properties: {
        virtualMachineProfile: {
          userData: encodeConfig(model.nodeConfig),
          storageProfile: { imageReference: { id: imageIdOf(context, model) } },
        },
      },
    };
  });
}

async function setCapacity(
  context: AzureContext,
  name: string,
  capacity: number,
  condition: WriteCondition,
  { signal }: CallOptions,
): Promise<void> {
  signal.throwIfAborted();
  checkCapacity(capacity);
  await rewrite(context, name, condition, signal, async (found) => {
    const now = found.sku?.capacity ?? 0;
    if (now === capacity) return undefined;
    if (capacity < now) {
      const instances = await listInstances(context, name, signal);
      const kept = instances.filter(
        ({ properties }) => properties.protectionPolicy?.protectFromScaleIn === true,
      );
      if (kept.length > capacity) {
        throw conflict(`Pool ${name} has ${kept.length} nodes that are protected from scale-in.`);
      }
    }
    return { sku: { ...found.sku, capacity } };
  });
}

/**
 * Reads the set and changes it, unless someone else did so in between: then reads again, because a caller without a
 * condition does not care. `change` returns nothing if there is nothing to do.
 */
async function rewrite(
  context: AzureContext,
  name: string,
  condition: WriteCondition,
  signal: AbortSignal,
  change: (found: ScaleSet) => Promise<object | undefined>,
): Promise<void> {
  const { arm, book } = context;
  for (let attempt = 1; ; attempt += 1) {
    signal.throwIfAborted();
    const found = await requireSet(context, name, signal);
    const body = await change(found);
    if (body === undefined) return;
    checkEtag(found, condition);
    try {
      await book.note(found.id, await arm.patch(at(type, name), body, signal, found.etag));
      return;
    } catch (thrown) {
      const isOld = thrown instanceof ImagoError && thrown.details?.status === 412;
      if (!isOld || condition.ifMatch !== undefined || attempt >= writeAttempts) throw thrown;
    }
  }
}

async function requireSet(context: AzureContext, name: string, signal: AbortSignal): Promise<ScaleSet> {
  const found = await readSet(context, name, signal);
  if (found === undefined) throw notFound(`There is no pool ${name}.`);
  if (stateOf(found.properties.provisioningState) === 'deleting')
    throw busy(`Pool ${name} is being deleted.`);
  return found;
}

/** In automatic mode, Azure would replace the disks of all nodes on its own. */
function requireManual({ name, properties: { upgradePolicy } }: ScaleSet): void {
  const { mode, automaticOSUpgradePolicy } = upgradePolicy ?? {};
  if (mode !== 'Automatic' && automaticOSUpgradePolicy?.enableAutomaticOSUpgrade !== true) return;
  throw new ImagoError(
    'provider-conflict',
    `Scale set ${name} upgrades its nodes automatically: a new model would replace them all without a rollout.`,
    { hint: `Run \`az vmss update -n ${name} --set upgradePolicy.mode=Manual\`.` },
  );
}

function checkEtag(found: ScaleSet, { ifMatch }: WriteCondition): void {
  if (ifMatch === undefined || ifMatch === etagOf(found)) return;
  throw conflict(`Pool ${found.name} was changed since it was read.`);
}

function checkCapacity(capacity: number): void {
  if (Number.isInteger(capacity) && capacity >= 0) return;
  throw invalid(`A pool cannot have ${capacity} nodes.`);
}
