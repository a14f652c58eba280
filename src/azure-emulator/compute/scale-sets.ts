// Scale sets: a pool of the model with one model for new nodes. Existing ones change only when they are upgraded.
import type { PoolModel } from '../../ports/provider/pools.ts';
import { ArmError, changeNotAllowed } from '../arm/arm-error.ts';
import type { Budget } from '../arm/budget.ts';
import { type Document, shown, stableId } from '../arm/documents.ts';
import { type Call, type Face, modelCall, type Routes } from '../arm/face.ts';
import { decodeText, fingerprint, type Json, merge, part, textAt } from '../arm/json.ts';
import { azureTime, type OperationState, type Reply } from '../arm/operations.ts';
import {
  accepted,
  documentOf,
  documentsAt,
  page,
  readLocation,
  requireDocument,
  topFields,
} from '../arm/resource.ts';
import { ownerOf } from '../arm/resource-id.ts';
import { digestOf, gigabytes } from '../content/content.ts';
import { ending, provisioningStatus, states } from './host.ts';
import { type ResolvedImage, resolveImage } from './image-reference.ts';
import { longId } from './machine-body.ts';
import { allNodes, isFlexible, scaleSetType, showNodes } from './nodes.ts';
import { advanceRolling } from './rolling.ts';
import { completeProperties } from './scale-set-body.ts';

const reads = [
  ['GetVMScaleSetSubscriptionMaximum', 2_400],
  ['GetVMScaleSetResource', 36],
] as const;
const writes = [
  ['CreateVMScaleSetSubscriptionMaximum', 375],
  ['CreateVMScaleSetResource', 12],
] as const;
const uniformWrites = [
  ...writes,
  ['VMScaleSetBatchedVMRequestsSubscriptionMaximum', 6_000],
  ['VmssQueuedVMOperations', 0],
] as const;
const manyReads = [
  ['HighCostGetVMScaleSetSubscriptionMaximum', 1_080],
  ['HighCostGetVMScaleSetResource', 30],
] as const;

export const scaleSetRoutes: Routes = {
  'PUT virtualmachinescalesets/*': { budgets: writesOf, answer: put },
  'PATCH virtualmachinescalesets/*': { budgets: writesOf, answer: patch },
  'GET virtualmachinescalesets/*': { budgets: reads, answer: get },
  'GET virtualmachinescalesets/instanceview': { budgets: manyReads, answer: getInstanceView },
  'GET virtualmachinescalesets': { budgets: manyReads.slice(0, 1), answer: list },
  'GET locations/virtualmachinescalesets': { budgets: manyReads.slice(0, 1), answer: list },
  'GET virtualmachinescalesets/publicipaddresses': {
    async answer(call) {
      requireDocument(call, ownerOf(call.address).id);
      return { status: 200, body: { value: [] } };
    },
  },
  'DELETE virtualmachinescalesets/*': {
    budgets: [['DeleteVMScaleSetSubscriptionMaximum', 525]],
    answer: remove,
  },
};

/** Only uniform sets count the machines that a change reaches. */
function writesOf({ face, address, body }: Call): readonly Budget[] {
  const known = face.documents.get(address.id);
  const mode = textAt(known?.body ?? body, 'properties', 'orchestrationMode');
  return mode === 'Flexible' ? writes : uniformWrites;
}

/** Returns the scale set that a path or an action names, with everything done that is due. */
export async function requireSet(call: Call, id: string): Promise<Document> {
  const found = requireDocument(call, id);
  const pool = await call.face.cloud.pools.getPool(String(found.own?.pool), modelCall);
  if (pool === undefined) {
    await forget(call.face, found);
    return requireDocument(call, id);
  }
  return advanceRolling(call.face, found);
}

async function forget(face: Face, set: Document): Promise<void> {
  for (const node of face.documents.inside(`${set.id}/virtualMachines`)) face.documents.delete(node.id);
  face.documents.delete(set.id);
}

async function get(call: Call): Promise<Reply> {
  const body = await view(call, await requireSet(call, call.address.id));
  return { status: 200, headers: { ETag: String(body.etag) }, body };
}

async function list(call: Call): Promise<Reply> {
  const found: Json[] = [];
  for (const set of documentsAt(call, scaleSetType)) {
    const pool = await call.face.cloud.pools.getPool(String(set.own?.pool), modelCall);
    if (pool === undefined) await forget(call.face, set);
    else found.push(await view(call, set));
  }
  return page(call, found);
}

async function view(call: Call, set: Document): Promise<Json> {
  const { face, query } = call;
  const pool = await face.cloud.pools.getPool(String(set.own?.pool), modelCall);
  const { userData, ...profile } = part(set.body, 'properties', 'virtualMachineProfile');
  const asked = query.get('$expand')?.toLowerCase() === 'userdata';
  const expand = asked && userData !== undefined && userData !== '' ? { userData } : {};
  const hasProfile = Object.keys(profile).length > 0;
  const properties = {
    ...part(set.body, 'properties'),
    ...(hasProfile ? { virtualMachineProfile: { ...profile, ...expand } } : {}),
  };
  const sku = part(set.body, 'sku');
  const capacity = hasProfile ? { capacity: pool?.capacity ?? 0 } : {};
  const body = {
    ...set.body,
    ...(Object.keys(sku).length === 0 ? {} : { sku: { ...sku, ...capacity } }),
    properties,
  };
  return { ...shown({ ...set, body }, await stateOf(face, set)), etag: `"${set.own?.etag ?? 1}"` };
}

/** A set is failed while a node of it could not be made. */
async function stateOf(face: Face, set: Document): Promise<string> {
  const name = String(set.own?.pool);
  const pool = await face.cloud.pools.getPool(name, modelCall);
  if (pool === undefined || pool.state !== 'ready') return states[pool?.state ?? 'deleting'];
  const nodes = await allNodes(face, name);
  return nodes.some(({ state, error }) => state === 'failed' && error !== undefined) ? 'Failed' : 'Succeeded';
}

async function put(call: Call): Promise<Reply> {
  const { face, address, body, headers } = call;
  const stored = face.documents.get(address.id);
  const known =
    stored && (await face.cloud.pools.getPool(String(stored.own?.pool), modelCall)) === undefined
      ? undefined
      : stored;
  const etag = `"${known?.own?.etag}"`;
  if (
    known !== undefined &&
    headers['if-match'] !== undefined &&
    headers['if-match'] !== '*' &&
    headers['if-match'] !== etag
  ) {
    throw new ArmError(
      412,
      'PreconditionFailed',
      `The etag ${headers['if-match']} does not match the current etag ${etag}.`,
    );
  }
  const location = readLocation(body, known);
  const given = withImage(part(body, 'properties'), known);
  const flexible =
    textAt(given, 'orchestrationMode') === 'Flexible' || (known !== undefined && isFlexible(known));
  if (known !== undefined && flexible !== isFlexible(known)) throw changeNotAllowed('orchestrationMode');
  const reference = part(given, 'virtualMachineProfile', 'storageProfile', 'imageReference');
  const hasProfile = 'virtualMachineProfile' in given;
  checkSecurity(given, reference);
  const image = hasProfile
    ? await imageOf(face, reference, location, known)
    : await emptyImage(face, location);
  const sku = { ...part(known?.body, 'sku'), ...part(body, 'sku') };
  const capacity = Number(sku.capacity ?? 0);
  const completed = completeProperties(given, {
    flexible,
    osType: image.osType,
    generation: image.generation,
    sizeGB: gigabytes(image.bytes),
  });
  const set = documentFor(call, { known, location, completed, sku, image });
  const model = modelOf(set, image);
  if (known === undefined) {
    const orchestration = flexible ? 'flexible' : 'uniform';
    await face.cloud.pools.createPool(
      { name: String(set.own?.pool), region: location, orchestration, model, capacity },
      modelCall,
    );
  } else {
    await showNodes(face, known);
    await face.cloud.pools.setModel(String(set.own?.pool), model, {}, modelCall);
    if ('capacity' in sku) await face.cloud.pools.setCapacity(String(set.own?.pool), capacity, {}, modelCall);
  }
  face.documents.set(set);
  const current =
    known === undefined ? set : await advanceRolling(face, set, known.own?.profile !== set.own?.profile);
  const seen = await view({ ...call, query: new URLSearchParams() }, current);
  const state = poolSettling(face, set);
  const reply = accepted(
    call,
    known === undefined ? 201 : 200,
    { poll: 'operations', location, monitored: false, state },
    merge(seen, { properties: { provisioningState: known === undefined ? 'Creating' : 'Updating' } }),
  );
  return { ...reply, headers: { ...reply.headers, ETag: String(seen.etag) } };
}

/** An image that is gone stays in the model: only nodes that are made from it fail. */
async function imageOf(
  face: Face,
  reference: Json,
  location: string,
  known: Document | undefined,
): Promise<ResolvedImage> {
  const before = part(known?.body, 'properties', 'virtualMachineProfile', 'storageProfile', 'imageReference');
  const kept = part(known?.own, 'image') as unknown as ResolvedImage;
  const same = known !== undefined && fingerprint(before) === fingerprint(reference);
  try {
    return await resolveImage(face, reference, location);
  } catch (thrown) {
    if (same && kept.model !== undefined) return kept;
    throw thrown;
  }
}

/** A set without a model only groups machines that are made alone. Nothing is ever made from this. */
function emptyImage(face: Face, location: string): Promise<ResolvedImage> {
  return resolveImage(face, { publisher: 'imago', offer: 'none', sku: 'none', version: 'latest' }, location);
}

/** An update that does not name an image keeps the one there is. */
function withImage(given: Json, known: Document | undefined): Json {
  const storage = part(known?.body, 'properties', 'virtualMachineProfile', 'storageProfile');
  const named = part(given, 'virtualMachineProfile', 'storageProfile', 'imageReference');
  if (known === undefined || Object.keys(named).length > 0 || !('imageReference' in storage)) return given;
  return merge(given, {
    virtualMachineProfile: { storageProfile: { imageReference: storage.imageReference } },
  });
}

function checkSecurity(given: Json, reference: Json): void {
  const type = textAt(given, 'virtualMachineProfile', 'securityProfile', 'securityType');
  if (
    type !== 'TrustedLaunch' ||
    !/\/providers\/microsoft\.compute\/images\//i.test(textAt(reference, 'id') ?? '')
  )
    return;
  throw new ArmError(
    400,
    'BadRequest',
    'Managed Images are not supported for virtual machines with security type TrustedLaunch.',
  );
}

function documentFor(
  call: Call,
  {
    known,
    location,
    completed,
    sku,
    image,
  }: {
    readonly known: Document | undefined;
    readonly location: string;
    readonly completed: Json;
    readonly sku: Json;
    readonly image: ResolvedImage;
  },
): Document {
  const { face, address, body } = call;
  const before = part(known?.body, 'properties');
  const now = azureTime(face.clock.now());
  const { timeCreated: _, ...profile } = part(completed, 'virtualMachineProfile');
  const { userData: asked, ...compared } = profile;
  const more = completed.additionalCapabilities ?? {};
  const hash = digestOf(fingerprint({ compared, sku: sku.name ?? '', more, userData: asked ?? '' }));
  const same = known?.own?.hash === hash;
  const { uniqueId = stableId(address.id, now), timeCreated = now } = before;
  const made = same ? part(before, 'virtualMachineProfile').timeCreated : now;
  const hasProfile = Object.keys(profile).length > 0;
  const { provisioningState: _state, ...rest } = completed;
  const properties = {
    ...rest,
    ...(hasProfile ? { virtualMachineProfile: { ...profile, timeCreated: made } } : {}),
    ...(hasProfile ? { uniqueId, timeCreated } : { uniqueId }),
  };
  const zones = Array.isArray(body.zones) ? { zones: body.zones } : {};
  const tier = Object.keys(sku).length === 0 ? {} : { sku: { tier: 'Standard', ...sku } };
  const content = { ...topFields(body, ['identity', 'plan']), ...zones, ...tier, properties };
  return {
    ...documentOf(call, scaleSetType, location, content),
    ...(known === undefined ? {} : { id: known.id, name: known.name }),
    own: {
      ...known?.own,
      pool: known?.own?.pool ?? `p${longId(address.id, now).slice(0, 20)}`,
      // A model that is changed back is another one: nodes that were made before do not have it.
      profile: same ? known?.own?.profile : `${Number(known?.own?.profile ?? 0) + 1}`,
      ...{ hash, image, generation: image.generation, bytes: image.bytes },
      etag: Number(known?.own?.etag ?? 0) + 1,
      ...(image.exactVersion === undefined ? {} : { exactVersion: image.exactVersion }),
    },
  };
}

function modelOf(set: Document, image: ResolvedImage): PoolModel {
  const profile = part(set.body, 'properties', 'virtualMachineProfile');
  return {
    ...image.model,
    digest: digestOf(image.model.gallery, image.model.image, image.model.version),
    size: textAt(set.body, 'sku', 'name') ?? 'Standard_DS1_v2',
    nodeConfig: decodeText(textAt(profile, 'userData')),
    tags: { profile: String(set.own?.profile) },
  };
}

/** An image without a version is looked up again each time that nodes get disks. */
export async function refreshImage(face: Face, set: Document): Promise<Document> {
  const reference = part(set.body, 'properties', 'virtualMachineProfile', 'storageProfile', 'imageReference');
  const image = await imageOf(face, reference, set.location, set);
  if (image.exactVersion === set.own?.exactVersion) return set;
  const fresh = { ...set, own: { ...set.own, image, exactVersion: image.exactVersion, bytes: image.bytes } };
  await showNodes(face, set);
  await face.cloud.pools.setModel(String(set.own?.pool), modelOf(fresh, image), {}, modelCall);
  face.documents.set(fresh);
  return fresh;
}

/** A change of a set has ended when the set and all its nodes are at rest. */
function poolSettling(face: Face, set: Document): () => Promise<OperationState> {
  const name = String(set.own?.pool);
  const notBefore = face.clock.now() + 1_000;
  let ended: OperationState | undefined;
  return async () => {
    if (ended !== undefined) return ended;
    if (face.clock.now() < notBefore) return { status: 'InProgress' };
    const pool = await face.cloud.pools.getPool(name, modelCall);
    const current = face.documents.get(set.id);
    if (current !== undefined && pool !== undefined) await advanceRolling(face, current);
    const nodes = pool === undefined ? [] : await allNodes(face, name);
    const busy = ['creating', 'updating', 'deleting'];
    if (pool !== undefined && [pool, ...nodes].some(({ state }) => busy.includes(state)))
      return { status: 'InProgress' };
    ended = ending(face, nodes.find(({ state }) => state === 'failed')?.error);
    return ended;
  };
}

async function patch(call: Call): Promise<Reply> {
  const { body, location } = requireDocument(call);
  return put({ ...call, body: { ...merge(body, call.body), location } });
}

async function remove(call: Call): Promise<Reply> {
  const set = call.face.documents.get(call.address.id);
  if (set === undefined) return { status: 204 };
  await call.face.cloud.pools.deletePool(String(set.own?.pool), modelCall);
  const state = poolSettling(call.face, set);
  return accepted(call, 202, { poll: 'operations', location: set.location, monitored: true, state });
}

async function getInstanceView(call: Call): Promise<Reply> {
  const set = await requireSet(call, ownerOf(call.address).id);
  const nodes = await allNodes(call.face, String(set.own?.pool));
  const counts = new Map<string, number>();
  for (const { state } of nodes) {
    const code = `ProvisioningState/${state === 'ready' ? 'succeeded' : state}`;
    counts.set(code, (counts.get(code) ?? 0) + 1);
  }
  const repairs = part(set.body, 'properties', 'automaticRepairsPolicy').enabled === true;
  const suspended = set.own?.repairsSuspended === true;
  const services =
    repairs || suspended
      ? [{ serviceName: 'AutomaticRepairs', serviceState: suspended ? 'Suspended' : 'Running' }]
      : [];
  return {
    status: 200,
    body: {
      virtualMachine: { statusesSummary: [...counts].map(([code, count]) => ({ code, count })) },
      ...(services.length === 0 ? {} : { orchestrationServices: services }),
      statuses: [provisioningStatus('ready', azureTime(call.face.clock.now()))],
    },
  };
}
