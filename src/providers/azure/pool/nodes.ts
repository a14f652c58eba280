// Nodes: instances of a scale set. A node is called what it calls itself, which is its name in Kubernetes too.
import { ImagoError } from '../../../domain/error/imago-error.ts';
import { notFound } from '../../../domain/error/refusals.ts';
import { type NodeWords, withWords } from '../../../domain/node-config/words.ts';
import type { CallOptions } from '../../../ports/provider/call.ts';
import type { NodePower, Pools, ProviderNode } from '../../../ports/provider/pools.ts';
import { type Address, actionOf, at, namesIn } from '../arm/address.ts';
import type { Resource, WireDisk, WireInstance, WirePool } from '../arm/wire.ts';
import { type AzureContext, stateOf } from '../context.ts';
import { decodeConfig, encodeConfig } from './scale-set.ts';

export type Instance = Resource<WireInstance> & {
  readonly instanceId?: string;
  readonly zones?: readonly string[];
};
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

const type = 'virtualMachineScaleSets/virtualMachines';
const withView = { $expand: 'instanceView' } as const;
/** Azure numbers computers in base 36. */
const numberLength = 6;

export function listInstances(
  { arm }: AzureContext,
  pool: string,
  signal: AbortSignal,
): Promise<readonly Instance[]> {
  return arm.list<Instance>(at(type, pool), signal, withView);
}

export function nodeRole(context: AzureContext): NodeRole {
  const { arm, listings } = context;
  /** Starts work on one instance, and waits for nothing. */
  const act = (pool: string, one: Instance, action: string, signal: AbortSignal) =>
    arm.post(actionOf(at(type, pool, one.instanceId ?? ''), action), undefined, signal);
  const upgrade = (pool: string, one: Instance, signal: AbortSignal) =>
    arm.post(
      actionOf(at('virtualMachineScaleSets', pool), 'manualupgrade'),
      { instanceIds: [one.instanceId] },
      signal,
    );
  return {
    async getNode(pool, node, { signal }) {
      signal.throwIfAborted();
      const one = await findInstance(context, pool, node, signal);
      return one && toNode(pool, one, await imagedAt(context, one, signal));
    },
    listNodes: (pool, query, { signal }) =>
      listings.page(
        `nodes of ${pool}`,
        query,
        async () => {
          const found = await listInstances(context, pool, signal);
          const times = found.length === 0 ? new Map() : await diskTimes(context, signal);
          return found.map((one) => toNode(pool, one, times.get(diskName(one)) ?? ''));
        },
        ({ name }) => name,
      ),
    async stopNode(pool, node, { signal }) {
      const one = await requireInstance(context, pool, node, signal);
      if (!['stopped', 'stopping'].includes(powerOf(one))) await act(pool, one, 'deallocate', signal);
    },
    async startNode(pool, node, { signal }) {
      const one = await requireInstance(context, pool, node, signal);
      if (!['running', 'starting'].includes(powerOf(one))) await act(pool, one, 'start', signal);
    },
    async reimageNode(pool, node, options) {
      const one = await requireUniform(context, pool, node, options);
      const { signal } = options;
      // A new image arrives with the upgrade; a new config alone leaves the disk as it is.
      const before =
        one.properties.latestModelApplied === true ? undefined : await upgrade(pool, one, signal);
      if (before !== undefined) {
        await arm.finish(before, signal);
        if (diskName(await requireInstance(context, pool, node, signal)) !== diskName(one)) return;
      }
      await act(pool, one, 'reimage', signal);
    },
    async upgradeNode(pool, node, options) {
      const one = await requireUniform(context, pool, node, options);
      if (one.properties.latestModelApplied !== true) await upgrade(pool, one, options.signal);
    },
    async protectNode(pool, node, { fromScaleIn, fromPoolActions }, { signal }) {
      const one = await requireInstance(context, pool, node, signal);
      const protectionPolicy = {
        protectFromScaleIn: fromScaleIn,
        protectFromScaleSetActions: fromPoolActions,
      };
      const { instanceView, provisioningState, ...properties } = one.properties;
      const { location, tags } = one;
      const body = { location, tags, properties: { ...properties, protectionPolicy } };
      if (fromPoolActions) await setRepairs(context, pool, 'Suspend', signal);
      await arm.finish(await arm.put(at(type, pool, one.instanceId ?? ''), body, signal), signal);
      if (fromPoolActions || (await hasProtected(context, pool, signal))) return;
      await setRepairs(context, pool, 'Resume', signal);
    },
    async deleteNode(pool, node, { signal }) {
      signal.throwIfAborted();
      const one = await findInstance(context, pool, node, signal);
      if (one === undefined || stateOf(one.properties.provisioningState) === 'deleting') return;
      await arm.delete(at(type, pool, one.instanceId ?? ''), signal);
    },
  };
}

/** Automatic repair would replace a node that is stopped for a capture. It waits until no node is protected. */
async function setRepairs(
  { arm }: AzureContext,
  pool: string,
  action: 'Suspend' | 'Resume',
  signal: AbortSignal,
): Promise<void> {
  const address = at('virtualMachineScaleSets', pool);
  const set = await arm.get<Resource<WirePool>>(address, signal);
  if (set?.properties.automaticRepairsPolicy?.enabled !== true) return;
  const body = { serviceName: 'AutomaticRepairs', action };
  await arm.finish(await arm.post(actionOf(address, 'setOrchestrationServiceState'), body, signal), signal);
}

async function hasProtected(context: AzureContext, pool: string, signal: AbortSignal): Promise<boolean> {
  const all = await listInstances(context, pool, signal);
  return all.some(({ properties }) => properties.protectionPolicy?.protectFromScaleSetActions === true);
}

/** Instances of uniform sets have numbers; those of flexible ones are machines, and are called like them. */
export function isUniform({ instanceId = '' }: Instance): boolean {
  return /^\d+$/.test(instanceId);
}

/** Returns where the machine of the node is. */
export function addressOf(pool: string, one: Instance): Address {
  const id = one.instanceId ?? '';
  return isUniform(one) ? at(type, pool, id) : at('virtualMachines', id);
}

/** Returns the text that the node reads. */
export async function readUserData(
  { arm }: AzureContext,
  pool: string,
  one: Instance,
  signal: AbortSignal,
): Promise<string> {
  const found = await arm.get<Instance>(addressOf(pool, one), signal, { $expand: 'userData' });
  return decodeConfig(found?.properties.userData);
}

/** Only for the machine of a node of a flexible scale set. */
export async function writeUserData(
  { arm }: AzureContext,
  machine: string,
  config: string,
  words: NodeWords,
  signal: AbortSignal,
): Promise<void> {
  const userData = encodeConfig(withWords(config, words));
  const started = await arm.patch(at('virtualMachines', machine), { properties: { userData } }, signal);
  await arm.finish(started, signal);
}

/** By its number, which is in its name; by the list if the name has another form. */
async function findInstance(
  context: AzureContext,
  pool: string,
  node: string,
  signal: AbortSignal,
): Promise<Instance | undefined> {
  const number = Number.parseInt(node.slice(-numberLength), 36);
  if (
    node.startsWith(`${pool}-`) &&
    node.length === pool.length + 1 + numberLength &&
    !Number.isNaN(number)
  ) {
    const found = await context.arm.get<Instance>(at(type, pool, String(number)), signal, withView);
    if (found !== undefined && nameOf(found) === node) return found;
  }
  try {
    return (await listInstances(context, pool, signal)).find((one) => nameOf(one) === node);
  } catch (thrown) {
    if (thrown instanceof ImagoError && thrown.code === 'provider-not-found') return undefined;
    throw thrown;
  }
}

export async function requireInstance(
  context: AzureContext,
  pool: string,
  node: string,
  signal: AbortSignal,
): Promise<Instance> {
  signal.throwIfAborted();
  const found = await findInstance(context, pool, node, signal);
  if (found !== undefined) return found;
  throw notFound(`Pool ${pool} has no node ${node}.`);
}

async function requireUniform(
  context: AzureContext,
  pool: string,
  node: string,
  { signal }: CallOptions,
): Promise<Instance> {
  signal.throwIfAborted();
  const set = await context.arm.get<Resource<WirePool>>(at('virtualMachineScaleSets', pool), signal);
  if (set?.properties.orchestrationMode === 'Flexible') {
    throw new ImagoError(
      'provider-lacks',
      `Pool ${pool} is flexible: its nodes are replaced, never changed.`,
    );
  }
  return requireInstance(context, pool, node, signal);
}

function nameOf({ name, properties }: Instance): string {
  return (properties.osProfile?.computerName ?? name.replaceAll('_', '-')).toLowerCase();
}

/** `imaged` is when its disk was made; empty: with the node. */
export function toNode(pool: string, one: Instance, imaged: string): ProviderNode {
  const { properties } = one;
  const { imageReference: image, osDisk } = properties.storageProfile ?? {};
  const [, definition = image?.offer ?? '', version = ''] = namesIn(image?.id, 'galleries/images/versions');
  const { protectFromScaleIn, protectFromScaleSetActions } = properties.protectionPolicy ?? {};
  const createdAt = plainTime(properties.timeCreated);
  const failure = properties.instanceView?.statuses?.find(({ level }) => level === 'Error');
  const disk = osDisk?.diffDiskSettings === undefined ? osDisk?.managedDisk?.id : undefined;
  const [zone] = one.zones ?? [];
  return {
    ...{ name: nameOf(one), pool, machineId: properties.vmId ?? '' },
    power: powerOf(one),
    state: stateOf(properties.provisioningState),
    ...{ image: definition, version: image?.exactVersion ?? version },
    latestModelApplied: properties.latestModelApplied === true,
    protection: {
      fromScaleIn: protectFromScaleIn === true,
      fromPoolActions: protectFromScaleSetActions === true,
    },
    createdAt,
    imagedAt: imaged === '' ? createdAt : plainTime(imaged),
    ...(disk === undefined ? {} : { osDisk: disk }),
    ...(zone === undefined ? {} : { zone }),
    ...(failure === undefined
      ? {}
      : {
          error: {
            code: failure.code ?? 'Failed',
            message: failure.message || (failure.displayStatus ?? ''),
          },
        }),
  };
}

export function powerOf({ properties: { instanceView, provisioningState } }: Instance): NodePower {
  const code = instanceView?.statuses?.find((status) => status.code?.startsWith('PowerState/'))?.code;
  switch (code?.slice('PowerState/'.length)) {
    case 'running':
      return 'running';
    case 'deallocating':
    case 'stopping':
      return 'stopping';
    case 'deallocated':
    case 'stopped':
      return 'stopped';
    default:
      return stateOf(provisioningState) === 'failed' ? 'stopped' : 'starting';
  }
}

function diskName({ properties: { storageProfile } }: Instance): string {
  return (namesIn(storageProfile?.osDisk?.managedDisk?.id, 'disks')[0] ?? '').toLowerCase();
}

async function diskTimes({ arm }: AzureContext, signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
  const disks = await arm.list<Resource<WireDisk>>(at('disks'), signal);
  return new Map(disks.map(({ name, properties }) => [name.toLowerCase(), properties.timeCreated ?? '']));
}

async function imagedAt({ arm }: AzureContext, one: Instance, signal: AbortSignal): Promise<string> {
  const name = diskName(one);
  const disk = name === '' ? undefined : await arm.get<Resource<WireDisk>>(at('disks', name), signal);
  return disk?.properties.timeCreated ?? '';
}

function plainTime(time: string | undefined): string {
  return new Date(time ?? 0).toISOString();
}
