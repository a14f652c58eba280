// The nodes of a scale set's pool as documents: instances of a uniform set, virtual machines of a flexible one.
import { isDeepStrictEqual } from 'node:util';
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import type { ProviderNode } from '../../ports/provider/pools.ts';
import { type Document, stableId } from '../arm/documents.ts';
import { type Call, type Face, modelCall } from '../arm/face.ts';
import { isObject, type Json, listAt, part, textAt } from '../arm/json.ts';
import { digestOf } from '../content/content.ts';
import { longId, makeDisk, releaseDisks } from './machine-body.ts';

export const scaleSetType = 'virtualMachineScaleSets';
const instanceType = 'virtualMachineScaleSets/virtualMachines';

export function isFlexible(set: Document): boolean {
  return part(set.body, 'properties').orchestrationMode === 'Flexible';
}

/** Returns the nodes of a pool; none if its deletion has just ended. */
export async function allNodes(face: Face, pool: string): Promise<readonly ProviderNode[]> {
  try {
    return await listAllNodes(face, pool);
  } catch (thrown) {
    if (ensureImagoError(thrown).code === 'provider-not-found') return [];
    throw thrown;
  }
}

async function listAllNodes(face: Face, pool: string): Promise<readonly ProviderNode[]> {
  const nodes: ProviderNode[] = [];
  let cursor: string | undefined;
  do {
    const query = { limit: 500, ...(cursor === undefined ? {} : { cursor }) };
    const page = await face.cloud.pools.listNodes(pool, query, modelCall);
    nodes.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return nodes;
}

/** Returns the documents of the set's nodes in the order of their numbers, new ones made from the model of now. */
export async function showNodes(face: Face, set: Document): Promise<readonly Document[]> {
  const pool = String(set.own?.pool);
  if ((await face.cloud.pools.getPool(pool, modelCall)) === undefined) return [];
  const nodes = await allNodes(face, pool);
  const documents = nodes.map((node) => {
    const id = idOf(set, node.name);
    const known = face.documents.get(id);
    if (known?.own?.machineId === node.machineId) return known;
    if (known !== undefined) releaseDisks(face, known);
    return makeNode(face, set, node.name, node.machineId, node.createdAt);
  });
  const live = new Set(documents.map(({ id }) => id.toLowerCase()));
  for (const gone of face.documents.inside(`${set.id}/virtualMachines`)) {
    if (live.has(gone.id.toLowerCase())) continue;
    releaseDisks(face, gone);
    face.documents.delete(gone.id);
  }
  return documents;
}

/** Virtual machines that flexible sets have made become visible. */
export async function showFlexibleNodes({ face }: Call): Promise<void> {
  const sets = face.documents.ofType(scaleSetType).filter(isFlexible);
  await Promise.all(sets.map((set) => showNodes(face, set)));
}

function idOf(set: Document, node: string): string {
  if (!isFlexible(set)) return `${set.id}/virtualMachines/${instanceNumber(node)}`;
  return `${set.id.slice(0, set.id.lastIndexOf('/virtualMachineScaleSets/'))}/virtualMachines/${flexibleName(set, node)}`;
}

export function instanceNumber(node: string): number {
  return Number(node.slice(node.lastIndexOf('-') + 1));
}

function flexibleName({ name }: Document, node: string): string {
  return `${name}_${stableId(node).slice(0, 8)}`;
}

/** Makes the document of a node from the model that the set has now. Its disks are made again unless they are kept. */
export function makeNode(
  face: Face,
  set: Document,
  node: string,
  machineId: string,
  createdAt: string,
  keepsDisks = false,
): Document {
  const id = idOf(set, node);
  const flexible = isFlexible(set);
  const { pool, profile, generation, exactVersion } = set.own ?? {};
  const before = face.documents.get(id);
  const own = {
    ...keptOwn(before),
    pool,
    node,
    machineId,
    profile,
    generation,
    etag: Number(before?.own?.etag ?? 0) + 1,
  };
  const name = flexible ? flexibleName(set, node) : `${set.name}_${instanceNumber(node)}`;
  const model = part(set.body, 'properties', 'virtualMachineProfile');
  const storage = part(model, 'storageProfile');
  const bytes = Number(set.own?.bytes);
  const given = { createOption: 'FromImage', ...part(storage, 'osDisk') };
  const owner = { face, id, group: set.group, location: set.location, name, own };
  const made = String(face.clock.now());
  const reference = part(storage, 'imageReference');
  const kept = keepsDisks ? part(before?.body, 'properties', 'storageProfile') : undefined;
  if (before !== undefined && kept === undefined) dropDisk(face, before);
  const digest = digestOf(machineId, made);
  const makeOsDisk = () =>
    makeDisk(owner, given, {
      ...{ name: `${set.name}${name}_OS__1_${longId(id, machineId, made)}`, bytes, digest },
      ...{ osType: textAt(given, 'osType') ?? 'Linux', reference: { id: textAt(reference, 'id') ?? '' } },
    });
  const osDisk = kept === undefined ? makeOsDisk() : part(kept, 'osDisk');
  const dataDisks = listAt(kept ?? storage, 'dataDisks')
    .filter(isObject)
    .map((disk, index) =>
      kept !== undefined
        ? disk
        : makeDisk(owner, disk, {
            name: `${name}_disk${index + 2}_${longId(id, String(index), made)}`,
            bytes: 0,
            digest: digestOf(id, String(index)),
          }),
    );
  const networks = listAt(model, 'networkProfile', 'networkInterfaceConfigurations').filter(isObject);
  const properties = {
    ...(flexible ? { virtualMachineScaleSet: { id: set.id }, platformFaultDomain: 0 } : {}),
    ...(flexible || networks.length === 0
      ? {}
      : { networkProfileConfiguration: { networkInterfaceConfigurations: networks } }),
    hardwareProfile: { vmSize: textAt(set.body, 'sku', 'name') ?? '' },
    storageProfile: {
      imageReference: { ...reference, ...(exactVersion === undefined ? {} : { exactVersion }) },
      osDisk: { ...osDisk, ...(flexible ? { deleteOption: 'Delete' } : {}) },
      dataDisks,
      ...copied(storage, ['diskControllerType']),
    },
    ...osProfileOf(model, node),
    ...(networks.length === 0
      ? {}
      : { networkProfile: { networkInterfaces: interfacesOf(set, id, name, flexible, networks) } }),
    ...copied(model, [
      'licenseType',
      'securityProfile',
      'diagnosticsProfile',
      'scheduledEventsProfile',
      'userData',
    ]),
    ...copied(part(set.body, 'properties'), ['additionalCapabilities']),
    timeCreated: createdAt.replace('Z', '0000+00:00'),
  };
  const tags = { tags: isObject(set.body.tags) ? set.body.tags : {} };
  const sku = {
    sku: { name: textAt(set.body, 'sku', 'name'), tier: textAt(set.body, 'sku', 'tier') ?? 'Standard' },
  };
  const zones = Array.isArray(set.body.zones) && !flexible ? { zones: set.body.zones.slice(0, 1) } : {};
  const document: Document = {
    ...{ id, group: set.group, location: set.location, name, own },
    type: flexible ? 'virtualMachines' : instanceType,
    body: {
      ...tags,
      ...zones,
      ...(flexible ? {} : { instanceId: String(instanceNumber(node)), ...sku }),
      properties,
    },
  };
  face.documents.set(document);
  return document;
}

/** Whether the disk of a node was made from the image that the set has now. */
export function hasImageOf(set: Document, { body }: Document): boolean {
  const wanted = part(set.body, 'properties', 'virtualMachineProfile', 'storageProfile', 'imageReference');
  const { exactVersion, ...reference } = part(body, 'properties', 'storageProfile', 'imageReference');
  return exactVersion === set.own?.exactVersion && isDeepStrictEqual(reference, wanted);
}

/** What a node keeps when it gets another model or disk. */
function keptOwn(before: Document | undefined): Json {
  const { deallocated, protection } = before?.own ?? {};
  return {
    ...(deallocated === undefined ? {} : { deallocated }),
    ...(protection === undefined ? {} : { protection }),
  };
}

function dropDisk(face: Face, { body }: Document): void {
  face.documents.delete(textAt(body, 'properties', 'storageProfile', 'osDisk', 'managedDisk', 'id') ?? '');
}

function osProfileOf(model: Json, node: string): Json {
  const { computerNamePrefix, ...profile } = part(model, 'osProfile');
  if (Object.keys(profile).length === 0) return {};
  const number = instanceNumber(node);
  const suffix = Number.isNaN(number)
    ? stableId(node).slice(0, 6)
    : number.toString(36).toUpperCase().padStart(6, '0');
  return { osProfile: { computerName: `${computerNamePrefix ?? ''}${suffix}`, ...profile } };
}

function interfacesOf(
  set: Document,
  id: string,
  name: string,
  flexible: boolean,
  networks: readonly Json[],
): readonly Json[] {
  const scope = set.id.slice(0, set.id.toLowerCase().indexOf('/providers/'));
  return networks.map((network) => ({
    id: flexible
      ? `${scope}/providers/Microsoft.Network/networkInterfaces/${network.name}-${name.slice(-8)}`
      : `${id}/networkInterfaces/${network.name}`,
  }));
}

function copied(from: Json, names: readonly string[]): Json {
  return Object.fromEntries(names.flatMap((name) => (from[name] === undefined ? [] : [[name, from[name]]])));
}
