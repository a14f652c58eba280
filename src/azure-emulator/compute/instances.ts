// The instances of scale sets: one by one, and the actions on some or all of them.
import { gone, invalidParameter } from '../arm/arm-error.ts';
import type { Budget } from '../arm/budget.ts';
import { type Document, shown, stableId } from '../arm/documents.ts';
import { type Call, modelCall, type Routes } from '../arm/face.ts';
import { isObject, type Json, listAt, merge, part } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';
import { accepted, page, timed } from '../arm/resource.ts';
import { ownerOf } from '../arm/resource-id.ts';
import {
  deleteHost,
  type HostState,
  instanceView,
  readHost,
  settling,
  startHost,
  states,
  stopHost,
} from './host.ts';
import { hasImageOf, instanceNumber, isFlexible, makeNode, scaleSetType, showNodes } from './nodes.ts';
import { refreshImage, requireSet } from './scale-sets.ts';
import { requireSpot, runCommand } from './virtual-machine-actions.ts';
import { changedDisks } from './virtual-machines.ts';

const reads = [
  ['GetVMScaleSetVMSubscriptionMaximum', 6_000],
  ['GetVMScaleSetVMResource', 36],
  ['VMScaleSetVMViewsSubscriptionMaximum', 30_000],
] as const;
const batched = [
  ['VMScaleSetBatchedVMRequestsSubscriptionMaximum', 6_000],
  ['VmssQueuedVMOperations', 0],
] as const;
const actions = [['VMScaleSetActionsSubscriptionMaximum', 1_500], ...batched] as const;
const deletes = [['DeleteVMScaleSetSubscriptionMaximum', 525], ...batched] as const;
const oneDelete = [
  ['DeleteVMScaleSetVMSubscriptionMaximum', 2_000],
  ['DeleteVMScaleSetVMResource', 12],
  ...batched,
] as const;
const oneAction = [
  ['VMScaleSetVMActionsSubscriptionMaximum', 2_000],
  ['VMScaleSetVMActionsResource', 12],
  ...batched,
] as const;

type Act = (call: Call, set: Document, nodes: readonly Document[]) => Promise<number | undefined>;

/** An action on the set, and the same on one instance. */
function both(name: string, act: Act, budgets: readonly Budget[], oneBudgets: readonly Budget[]): Routes {
  return {
    [`POST virtualmachinescalesets/${name}`]: { budgets, answer: (call) => onSome(call, act) },
    [`POST virtualmachinescalesets/virtualmachines/${name}`]: {
      budgets: oneBudgets,
      answer: (call) => onOne(call, ownerOf(call.address).id, act),
    },
  };
}

function setIdOf(id: string): string {
  return id.replace(/\/virtualMachines(?:\/.*)?$/i, '');
}

/** Instances are named by number, or `*` for all; protected ones are left alone only when all are meant. */
async function onSome(call: Call, act: Act): Promise<Reply> {
  const set = await requireSet(call, ownerOf(call.address).id);
  const all = await showNodes(call.face, set);
  const ids = listAt(call.body, 'instanceIds').map(String);
  const everything = ids.length === 0 || ids.includes('*');
  const chosen = everything
    ? all.filter(({ own }) => part(own, 'protection').protectFromScaleSetActions !== true)
    : ids.map((id) => requireNode(all, id));
  return run(call, set, chosen, act);
}

async function onOne(call: Call, id: string, act: Act): Promise<Reply> {
  const set = await requireSet(call, setIdOf(id));
  const all = await showNodes(call.face, set);
  const name = decodeURIComponent(id.split('/').at(-1) ?? '');
  return run(call, set, name === '*' ? all : [requireNode(all, name)], act);
}

function requireNode(nodes: readonly Document[], id: string): Document {
  const found = nodes.find(
    (node) => instanceIdOf(node) === id || node.name.toLowerCase() === id.toLowerCase(),
  );
  if (found !== undefined) return found;
  throw gone();
}

function instanceIdOf({ type, own, name }: Document): string {
  return type === 'virtualMachines' ? name : String(instanceNumber(String(own?.node)));
}

async function run(call: Call, set: Document, nodes: readonly Document[], act: Act): Promise<Reply> {
  const ms = await act(call, set, nodes);
  const owns = nodes.map(({ own = {} }) => own);
  const until = call.face.clock.now() + (ms ?? 0);
  const state = owns.length === 0 ? timed(call, until) : settling(call, owns, until);
  return accepted(call, 202, { poll: 'operations', location: set.location, monitored: true, state });
}

const start: Act = async ({ face }, _, nodes) => {
  for (const node of nodes) {
    await startHost(face, node.own ?? {});
    face.documents.set({ ...node, own: { ...node.own, deallocated: false } });
  }
  return undefined;
};

async function stop({ face }: Call, nodes: readonly Document[], deallocated: boolean): Promise<undefined> {
  for (const node of nodes) {
    await stopHost(face, node.own ?? {});
    face.documents.set({ ...node, own: { ...node.own, deallocated } });
  }
  return undefined;
}

const reimage: Act = async ({ face }, set, nodes) => {
  const fresh = await refreshImage(face, set);
  for (const { own = {} } of nodes) {
    const host = await readHost(face, own);
    await face.cloud.pools.reimageNode(String(own.pool), String(own.node), modelCall);
    makeNode(face, fresh, String(own.node), String(own.machineId), host?.createdAt ?? '');
  }
  return undefined;
};

/** Brings instances to the model of the set; those that have it already are left alone. */
const upgrade: Act = async ({ face }, set, nodes) => {
  const fresh = await refreshImage(face, set);
  for (const node of nodes) {
    const { own = {} } = node;
    if (own.profile === fresh.own?.profile) continue;
    const keepsDisks = hasImageOf(fresh, node);
    const host = await readHost(face, own);
    await face.cloud.pools.upgradeNode(String(own.pool), String(own.node), modelCall);
    makeNode(face, fresh, String(own.node), String(own.machineId), host?.createdAt ?? '', keepsDisks);
  }
  return undefined;
};

const remove: Act = async ({ face }, _, nodes) => {
  for (const node of nodes) await deleteHost(face, node.own ?? {});
  return undefined;
};

async function list(call: Call): Promise<Reply> {
  const set = await requireSet(call, setIdOf(call.address.id));
  const nodes = await showNodes(call.face, set);
  const found = await Promise.all(nodes.map((node) => view(call, set, node)));
  return page(
    call,
    found.filter((one) => one !== undefined),
  );
}

async function one(call: Call, id: string) {
  const set = await requireSet(call, setIdOf(id));
  const nodes = await showNodes(call.face, set);
  const node = requireNode(nodes, decodeURIComponent(id.split('/').at(-1) ?? ''));
  const host = await readHost(call.face, node.own ?? {});
  if (host === undefined) throw gone();
  return { set, node, host };
}

/** Returns the document of the instance that a path names. */
export async function requireInstance(call: Call, id: string): Promise<Document> {
  return (await one(call, id)).node;
}

async function get(call: Call): Promise<Reply> {
  const { set, node } = await one(call, call.address.id);
  const seen = (await view(call, set, node)) ?? {};
  const body = isFlexible(set)
    ? seen
    : merge(seen, { properties: { resilientVMDeletionStatus: 'Disabled' } });
  return { status: 200, headers: { ETag: String(body.etag) }, body };
}

/** Returns the instance as Azure shows it; `undefined` if it is gone. */
async function view({ face, query }: Call, set: Document, node: Document): Promise<Json | undefined> {
  const own = node.own ?? {};
  const host = await readHost(face, own);
  if (host === undefined) return undefined;
  const { userData, ...properties } = part(node.body, 'properties');
  const expand = query.get('$expand')?.toLowerCase() ?? '';
  const storage = part(properties, 'storageProfile');
  const dataDisks = listAt(storage, 'dataDisks')
    .filter(isObject)
    .filter((disk) => !(disk.toBeDetached === true && settled(face.clock.now(), own)));
  const body = {
    ...node.body,
    instanceId: instanceIdOf(node),
    properties: {
      latestModelApplied: own.profile === set.own?.profile,
      modelDefinitionApplied: 'VirtualMachineScaleSet',
      ...properties,
      storageProfile: { ...storage, dataDisks },
      vmId: host.machineId,
      ...(own.protection === undefined ? {} : { protectionPolicy: own.protection }),
      ...(expand.includes('instanceview') ? { instanceView: fullView(face, node, host) } : {}),
      ...(expand.includes('userdata') && userData !== undefined ? { userData } : {}),
    },
  };
  const busy = typeof own.updatingUntil === 'number' && face.clock.now() < own.updatingUntil;
  const state = busy && host.state === 'ready' ? 'Updating' : states[host.state];
  const id = `${set.id}/virtualMachines/${instanceIdOf(node)}`;
  return {
    ...shown({ ...node, id, type: `${scaleSetType}/virtualMachines`, body }, state),
    etag: `"${own.etag ?? 1}"`,
  };
}

function settled(now: number, { updatingUntil }: Json): boolean {
  return typeof updatingUntil !== 'number' || now >= updatingUntil;
}

async function getInstanceView(call: Call): Promise<Reply> {
  const { node, host } = await one(call, ownerOf(call.address).id);
  return { status: 200, body: fullView(call.face, node, host) };
}

function fullView(face: Call['face'], node: Document, host: HostState): Json {
  const number = instanceNumber(String(node.own?.node));
  const seen = instanceView(face, node, host, String(node.own?.generation ?? 'V1'));
  const domain = Number.isNaN(number) ? 0 : number % 5;
  return {
    placementGroupId: stableId(String(node.own?.pool)),
    platformUpdateDomain: domain,
    platformFaultDomain: domain,
    ...seen,
  };
}

async function evict(call: Call): Promise<Reply> {
  const { set, node } = await one(call, ownerOf(call.address).id);
  const { priority, evictionPolicy } = part(set.body, 'properties', 'virtualMachineProfile');
  requireSpot(priority);
  if (evictionPolicy === 'Delete') await deleteHost(call.face, node.own ?? {});
  else await stop(call, [node], true);
  return { status: 204 };
}

/** Changes the protection or the data disks of one instance. User data is accepted but, as recorded, not applied. */
async function put(call: Call): Promise<Reply> {
  const { face, body } = call;
  const { set, node } = await one(call, call.address.id);
  const given = part(body, 'properties');
  const own = node.own ?? {};
  const protection = 'protectionPolicy' in given ? part(given, 'protectionPolicy') : undefined;
  if (protection !== undefined) {
    const asked = {
      fromScaleIn: protection.protectFromScaleIn === true,
      fromPoolActions: protection.protectFromScaleSetActions === true,
    };
    await face.cloud.pools.protectNode(String(own.pool), String(own.node), asked, modelCall);
  }
  const storage = part(node.body, 'properties', 'storageProfile');
  const owner = { face, id: node.id, group: node.group, location: node.location, name: node.name, own };
  const held = listAt(storage, 'dataDisks').filter(isObject);
  const asked = listAt(given, 'storageProfile', 'dataDisks').filter(isObject);
  if (asked.some(({ lun }) => typeof lun !== 'number'))
    throw invalidParameter('dataDisk.lun', 'A data disk needs a lun.');
  const after = 'storageProfile' in given ? await changedDisks(owner, held, asked) : held;
  const kept = new Set(after.map(({ lun }) => lun));
  const leaving = held.filter(({ lun }) => !kept.has(lun)).map((disk) => ({ ...disk, toBeDetached: true }));
  const dataDisks = [...after.map(({ deleteOption: _, ...disk }) => disk), ...leaving];
  const changed = merge(node.body, { properties: { storageProfile: { dataDisks } } });
  const until = face.clock.now() + 2_000;
  const document: Document = {
    ...node,
    body: changed,
    own: {
      ...own,
      ...(protection === undefined || Object.keys(protection).length === 0 ? {} : { protection }),
      ...{ etag: Number(own.etag ?? 1) + 1, updatingUntil: until },
    },
  };
  face.documents.set(document);
  const state = settling(call, [document.own ?? {}], until);
  const seen = merge((await view({ ...call, query: new URLSearchParams() }, set, document)) ?? {}, {
    properties: { provisioningState: 'Updating', resilientVMDeletionStatus: 'Disabled' },
  });
  const reply = accepted(
    call,
    200,
    { poll: 'operations', location: set.location, monitored: false, state },
    seen,
  );
  return { ...reply, headers: { ...reply.headers, ETag: String(seen.etag) } };
}

export const instanceRoutes: Routes = {
  'GET virtualmachinescalesets/virtualmachines/*': { budgets: reads, answer: get },
  'GET virtualmachinescalesets/virtualmachines/instanceview': { budgets: reads, answer: getInstanceView },
  'GET virtualmachinescalesets/virtualmachines': {
    budgets: [
      ['HighCostGetVMScaleSetSubscriptionMaximum', 1_080],
      ['HighCostGetVMScaleSetResource', 30],
      ['VMScaleSetVMViewsSubscriptionMaximum', 30_000],
    ],
    answer: list,
  },
  'PUT virtualmachinescalesets/virtualmachines/*': { budgets: oneAction, answer: put },
  'PATCH virtualmachinescalesets/virtualmachines/*': { budgets: oneAction, answer: put },
  'DELETE virtualmachinescalesets/virtualmachines/*': {
    budgets: oneDelete,
    answer: (call) => onOne(call, call.address.id, remove),
  },
  'POST virtualmachinescalesets/virtualmachines/simulateeviction': { budgets: oneAction, answer: evict },
  'POST virtualmachinescalesets/virtualmachines/runcommand': {
    budgets: oneAction,
    answer: async (call) => runCommand(call, (await one(call, ownerOf(call.address).id)).node),
  },
  ...both('performmaintenance', async () => 60_000, actions, oneAction),
  ...both('start', start, actions, oneAction),
  ...both('poweroff', (call, _, nodes) => stop(call, nodes, false), deletes, oneDelete),
  ...both('deallocate', (call, _, nodes) => stop(call, nodes, true), deletes, oneDelete),
  ...both('restart', async () => 26_000, actions, oneAction),
  ...both('redeploy', async () => 60_000, actions, oneAction),
  ...both('reimage', reimage, actions, oneAction),
  ...both('reimageall', reimage, actions, oneAction),
  ...both('manualupgrade', upgrade, actions, oneAction),
  ...both('delete', remove, actions, oneAction),
};
