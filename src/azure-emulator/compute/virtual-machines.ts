// Virtual machines: single machines of the model, and the nodes of flexible scale sets.
import { ArmError, gone } from '../arm/arm-error.ts';
import { type Document, shown, stableId } from '../arm/documents.ts';
import { type Call, modelCall, type Routes } from '../arm/face.ts';
import { decodeText, echo, isObject, type Json, listAt, merge, part, textAt } from '../arm/json.ts';
import { azureTime, type Reply } from '../arm/operations.ts';
import {
  accepted,
  documentOf,
  documentsAt,
  page,
  readLocation,
  requireDocument,
  topFields,
} from '../arm/resource.ts';
import { ownerOf, ownName } from '../arm/resource-id.ts';
import { contentOf, findDocument } from '../content/content.ts';
import { extensionsOf } from './extensions.ts';
import { deleteHost, instanceView, isDeallocated, readHost, settling, states } from './host.ts';
import { imageDataDisks, type ResolvedImage, resolveImage } from './image-reference.ts';
import {
  detach,
  diskDigest,
  longId,
  makeDisk,
  releaseDisks,
  shownOsProfile,
  withConfiguration,
} from './machine-body.ts';
import { showFlexibleNodes } from './nodes.ts';

const reads = [
  ['LowCostGetSubscriptionMaximum', 24_000],
  ['LowCostGetResource', 36],
] as const;
const updates = [
  ['UpdateVMSubscriptionMaximum', 1_500],
  ['UpdateVMResource', 12],
] as const;

export const virtualMachineRoutes: Routes = {
  'PUT virtualmachines/*': { budgets: updates, answer: put },
  'PATCH virtualmachines/*': { budgets: updates, answer: patch },
  'GET virtualmachines/*': { budgets: reads, answer: get },
  'GET virtualmachines/instanceview': { budgets: reads, answer: getInstanceView },
  'GET virtualmachines': { budget: ['HighCostGetSubscriptionMaximum', 900], answer: list },
  'GET locations/virtualmachines': { budget: ['HighCostGetSubscriptionMaximum', 900], answer: list },
  'DELETE virtualmachines/*': {
    budgets: [
      ['DeleteVMSubscriptionMaximum', 1_500],
      ['DeleteVMResource', 12],
    ],
    answer: remove,
  },
};

async function list(call: Call): Promise<Reply> {
  await showFlexibleNodes(call);
  const documents = documentsAt(call, 'virtualMachines');
  const found = await Promise.all(documents.map((one) => view(call, one)));
  return page(
    call,
    found.filter((one) => one !== undefined),
  );
}

async function get(call: Call): Promise<Reply> {
  const document = await requireMachine(call);
  const found = await view(call, document);
  // The resource manager does not know yet what the platform deleted on its own.
  if (found === undefined && document.own?.evicted === true) throw gone();
  if (found === undefined) requireDocument(call);
  const headers = call.query.has('$expand') ? {} : { ETag: String(found?.etag) };
  return { status: 200, headers, ...(found === undefined ? {} : { body: found }) };
}

/** Returns the document of the machine that a path names, which a scale set may have made. */
export async function requireMachine(call: Call, id = call.address.id): Promise<Document> {
  if (call.face.documents.get(id) === undefined) await showFlexibleNodes(call);
  return requireDocument(call, id);
}

async function getInstanceView(call: Call): Promise<Reply> {
  const document = await requireMachine(call, ownerOf(call.address).id);
  const host = await readHost(call.face, document.own ?? {});
  if (host === undefined) return { status: 404 };
  return {
    status: 200,
    body: instanceView(call.face, document, host, String(document.own?.generation ?? 'V1')),
  };
}

/** Returns the machine as Azure shows it; `undefined` when its deletion has ended. */
async function view(call: Call, document: Document): Promise<Json | undefined> {
  const { face, query } = call;
  const own = document.own ?? {};
  const host = await readHost(face, own);
  if (host === undefined) {
    releaseDisks(face, document);
    face.documents.delete(document.id);
    return undefined;
  }
  const expand = query.get('$expand')?.toLowerCase() ?? '';
  const { userData, ...properties } = part(document.body, 'properties');
  const body = {
    ...document.body,
    properties: {
      ...properties,
      ...(isDeallocated(own, host) ? { storageProfile: unsized(part(properties, 'storageProfile')) } : {}),
      vmId: host.machineId,
      ...(expand.includes('instanceview')
        ? { instanceView: instanceView(face, document, host, String(own.generation ?? 'V1')) }
        : {}),
      ...(expand.includes('userdata') && userData !== undefined ? { userData } : {}),
    },
  };
  const resources = extensionsOf(call, `${document.id}/extensions`).map((one) => shown(one));
  return {
    ...shown({ ...document, body }, states[host.state]),
    ...(resources.length === 0 ? {} : { resources }),
    etag: `"${own.etag ?? 1}"`,
  };
}

/** The sizes and kinds of the disks of a deallocated machine are not shown. */
function unsized(storage: Json): Json {
  const without = ({ diskSizeGB: _, ...disk }: Json) => {
    const { storageAccountType: _kind, ...managedDisk } = part(disk, 'managedDisk');
    return { ...disk, ...('managedDisk' in disk ? { managedDisk } : {}) };
  };
  return {
    ...storage,
    osDisk: without(part(storage, 'osDisk')),
    dataDisks: listAt(storage, 'dataDisks').filter(isObject).map(without),
  };
}

async function put(call: Call): Promise<Reply> {
  const known = call.face.documents.get(call.address.id);
  if (known !== undefined && (await readHost(call.face, known.own ?? {})) !== undefined)
    return update(call, known);
  const { face, address, body } = call;
  const location = readLocation(body);
  const given = echo(part(body, 'properties'));
  const storage = part(given, 'storageProfile');
  const image = await imageOf(call, storage, location);
  const machine = `m${longId(address.id, String(face.clock.now())).slice(0, 20)}`;
  const { model, osType, generation } = image;
  await face.cloud.machines.createMachine(
    {
      ...{ name: machine, region: location, ...model, digest: diskDigest('', image) },
      size: textAt(given, 'hardwareProfile', 'vmSize') ?? 'Standard_DS1_v2',
      firmware: generation === 'V2' ? 'uefi' : 'bios',
      ...{ userData: decodeText(textAt(given, 'userData')), tags: {} },
    },
    modelCall,
  );
  const own = { machine, generation, etag: 1 };
  const name = ownName(address);
  const disks = { face, id: address.id, group: address.group, location, name, own };
  const properties = {
    ...given,
    hardwareProfile: { vmSize: 'Standard_DS1_v2', ...part(given, 'hardwareProfile') },
    storageProfile: storageOf(disks, storage, image),
    ...(Object.keys(part(given, 'osProfile')).length === 0
      ? {}
      : {
          osProfile: {
            computerName: name,
            ...shownOsProfile(withConfiguration(part(given, 'osProfile'), osType), true),
          },
        }),
    timeCreated: azureTime(face.clock.now()),
  };
  const zones = Array.isArray(body.zones) ? { zones: body.zones } : {};
  const content = { ...topFields(body, ['identity', 'plan']), ...zones, properties };
  const document = { ...documentOf(call, 'virtualMachines', location, content), own };
  face.documents.set(document);
  return answered(call, 201, document);
}

async function imageOf(call: Call, storage: Json, location: string): Promise<ResolvedImage> {
  const { face } = call;
  const osDisk = part(storage, 'osDisk');
  const attached = osDisk.createOption === 'Attach' ? textAt(osDisk, 'managedDisk', 'id') : undefined;
  if (attached === undefined) return resolveImage(face, part(storage, 'imageReference'), location);
  const disk = findDocument(face, attached);
  if (disk === undefined)
    throw new ArmError(404, 'NotFound', `Disk ${attached.split('/').at(-1)} is not found.`);
  const holder = textAt(disk.body, 'managedBy');
  if (holder !== undefined) {
    throw new ArmError(
      409,
      'ConflictingUserInput',
      `Disk '${disk.id}' already exists and is attached to VM '${holder}'.`,
    );
  }
  const content = contentOf(face, attached);
  const osType = textAt(osDisk, 'osType') ?? textAt(content.about, 'osType') ?? 'Linux';
  const image = `d${longId(disk.id).slice(0, 20)}`;
  const version = { gallery: 'foreign', image, version: '1.0.0' };
  const generation = content.about.hyperVGeneration === 'V1' ? 'V1' : 'V2';
  face.cloud.world.addVersionByOther({
    ...version,
    ...{ region: location, diskDigest: content.digest, diskBytes: content.bytes },
    definition: {
      os: osType === 'Windows' ? 'windows' : 'linux',
      ...{ architecture: 'x64', generation: generation === 'V2' ? 2 : 1, osState: 'specialized' },
    },
  });
  return {
    model: version,
    exactVersion: undefined,
    osType,
    bytes: content.bytes,
    source: undefined,
    generation,
  };
}

function storageOf(owner: Parameters<typeof makeDisk>[0], storage: Json, image: ResolvedImage): Json {
  const reference = part(storage, 'imageReference');
  const at = String(owner.face.clock.now());
  const exact = image.exactVersion === undefined ? {} : { exactVersion: image.exactVersion };
  const given = { createOption: 'FromImage', ...part(storage, 'osDisk') };
  const digest = diskDigest(String(owner.own.machine), image);
  const deleteOption = { deleteOption: part(storage, 'osDisk').deleteOption ?? 'Detach' };
  if (textAt(given, 'vhd', 'uri') !== undefined) {
    const osDisk = { osType: image.osType, caching: 'ReadWrite', ...given, ...deleteOption, diskSizeGB: 30 };
    return { imageReference: { ...reference, ...exact }, osDisk, dataDisks: [] };
  }
  const osDisk = makeDisk(owner, given, {
    ...{
      name: `${owner.name}_OsDisk_1_${longId(owner.id, at)}`,
      osType: image.osType,
      bytes: image.bytes,
      digest,
    },
    reference: { id: textAt(reference, 'id') ?? textAt(reference, 'communityGalleryImageId') ?? '' },
  });
  const fromImage = imageDataDisks(owner.face, image)
    .filter(isObject)
    .map((disk) => ({
      ...{ lun: disk.lun, createOption: 'FromImage', caching: disk.hostCaching, diskSizeGB: disk.sizeInGB },
    }));
  const asked = listAt(storage, 'dataDisks').filter(isObject);
  const luns = new Set(asked.map(({ lun }) => lun));
  const all = [
    ...fromImage.filter(({ lun }) => !luns.has(lun)),
    ...asked.map((disk) => ({ ...fromImage.find(({ lun }) => lun === disk.lun), ...disk })),
  ];
  return {
    ...(Object.keys(reference).length === 0 ? {} : { imageReference: { ...reference, ...exact } }),
    osDisk: { ...osDisk, ...deleteOption },
    dataDisks: all.map((disk, index) => dataDisk(owner, disk, index, at)),
    ...(storage.diskControllerType === undefined ? {} : { diskControllerType: storage.diskControllerType }),
  };
}

function dataDisk(owner: Parameters<typeof makeDisk>[0], given: Json, index: number, at: string): Json {
  const name = `${owner.name}_disk${index + 2}_${longId(owner.id, String(given.lun), at)}`;
  const disk = makeDisk(owner, given, { name, bytes: 0, digest: stableId(owner.id, name) });
  return { deleteOption: 'Detach', ...disk };
}

/** Changes what may change: size, data disks, user data, tags, identity. */
async function update(call: Call, known: Document): Promise<Reply> {
  const { face, address, body } = call;
  const location = readLocation(body, known);
  const before = part(known.body, 'properties');
  const given = echo(part(body, 'properties'));
  const storage = part(before, 'storageProfile');
  const own = { ...known.own, etag: Number(known.own?.etag ?? 1) + 1 };
  const owner = { face, id: known.id, group: known.group, location, name: ownName(address), own };
  const asked =
    'storageProfile' in given ? listAt(given, 'storageProfile', 'dataDisks').filter(isObject) : undefined;
  const held = listAt(storage, 'dataDisks').filter(isObject);
  const dataDisks = asked === undefined ? held : await changedDisks(owner, held, asked);
  const properties = {
    ...before,
    ...Object.fromEntries(
      Object.entries(given).filter(
        ([name]) =>
          ![
            'storageProfile',
            'osProfile',
            'vmId',
            'provisioningState',
            'instanceView',
            'timeCreated',
          ].includes(name),
      ),
    ),
    storageProfile: { ...storage, dataDisks },
  };
  const content = { ...known.body, ...topFields(body, ['identity', 'plan']), properties };
  const document = { ...known, body: content, own };
  face.documents.set(document);
  if ('userData' in given) await readAgain(call, document);
  return answered(call, 200, document);
}

/** The machine reads other user data from now on. */
async function readAgain({ face }: Call, { own = {}, body }: Document): Promise<void> {
  const host = await readHost(face, own);
  const userData = decodeText(textAt(body, 'properties', 'userData'));
  if (host !== undefined) face.cloud.world.setUserData(host.machineId, userData);
}

/** Attaches, makes and detaches data disks, so that the machine has those that were asked for. */
export async function changedDisks(
  owner: Parameters<typeof makeDisk>[0],
  held: readonly Json[],
  asked: readonly Json[],
): Promise<readonly Json[]> {
  const at = String(owner.face.clock.now());
  const result = asked
    .filter((disk) => disk.toBeDetached !== true)
    .map((disk, index) => {
      const id = textAt(disk, 'managedDisk', 'id')?.toLowerCase();
      const same = held.find(
        (one) =>
          one.lun === disk.lun &&
          (id === undefined || textAt(one, 'managedDisk', 'id')?.toLowerCase() === id),
      );
      return same === undefined
        ? dataDisk(owner, disk, index, at)
        : { ...same, ...disk, managedDisk: same.managedDisk };
    });
  const kept = new Set(result.map((disk) => textAt(disk, 'managedDisk', 'id')?.toLowerCase()));
  for (const disk of held) {
    const id = textAt(disk, 'managedDisk', 'id') ?? '';
    const found = kept.has(id.toLowerCase()) ? undefined : owner.face.documents.get(id);
    if (found !== undefined) detach(owner.face, found);
  }
  return result;
}

async function answered(call: Call, status: number, document: Document): Promise<Reply> {
  const { face } = call;
  const until = face.clock.now() + (status === 200 ? 2_000 : 0);
  const state = settling(call, [document.own ?? {}], until);
  const work = { poll: 'operations', location: document.location, monitored: false, state } as const;
  const seen = await view({ ...call, query: new URLSearchParams() }, document);
  const body =
    seen && merge(seen, { properties: { provisioningState: status === 201 ? 'Creating' : 'Updating' } });
  const reply = accepted(call, status, work, body);
  return { ...reply, headers: { ...reply.headers, ETag: String(seen?.etag) } };
}

async function patch(call: Call): Promise<Reply> {
  const { body, location } = await requireMachine(call);
  return put({ ...call, body: { ...merge(body, call.body), location } });
}

async function remove(call: Call): Promise<Reply> {
  await showFlexibleNodes(call);
  const found = call.face.documents.get(call.address.id);
  if (found === undefined) return { status: 204 };
  await deleteHost(call.face, found.own ?? {});
  const state = settling(call, [found.own ?? {}]);
  return accepted(call, 202, { poll: 'operations', location: found.location, monitored: true, state });
}
