// Managed disks and snapshots: empty, copied, from an image, or uploaded through an access grant.
import { ArmError } from '../arm/arm-error.ts';
import { type Document, shown, stableId } from '../arm/documents.ts';
import { type Call, modelCall, type Route, type Routes } from '../arm/face.ts';
import { echo, type Json, merge, part, textAt } from '../arm/json.ts';
import { azureTime, type Reply } from '../arm/operations.ts';
import {
  accepted,
  deleteLater,
  documentOf,
  documentsFor,
  getDocument,
  page,
  readLocation,
  requireDocument,
  timed,
  topFields,
} from '../arm/resource.ts';
import {
  type Content,
  contentOf,
  digestOf,
  findDocument,
  gigabytes,
  ownContent,
} from '../content/content.ts';
import { performanceOf } from './disk-sizes.ts';

/** Recorded: less than a second, up to two for copies. */
const workMs = 400;
const copyMs = 3_100;
/** A copy to another region, in the background. */
const regionCopyMs = 300_000;
const types = { disks: 'disks', snapshots: 'snapshots' } as const;
type Type = keyof typeof types;

const writes = {
  disks: ['CreateUpdateDisks', 3_000, 25_000],
  snapshots: ['HighCostSnapshotCreateHydrate', 1_000, 8_000],
} as const;

export const diskRoutes: Routes = { ...routesOf('disks'), ...routesOf('snapshots') };

function routesOf(type: Type): Record<string, Route> {
  const budget = writes[type];
  return {
    [`PUT ${type}/*`]: { budget, answer: (call) => put(call, type) },
    [`PATCH ${type}/*`]: { budget, answer: (call) => patch(call, type) },
    [`GET ${type}/*`]: {
      budget: ['LowCostGet', 15_000, 120_000],
      answer: (call) => getDocument(progressed(call)),
    },
    [`GET ${type}`]: {
      budget: ['HighCostGet', 240, 1_920],
      answer: async (call) =>
        page(
          call,
          documentsFor(call, type).map((one) => shown(one)),
        ),
    },
    [`DELETE ${type}/*`]: { budget, answer: (call) => remove(call, type) },
  };
}

async function put(call: Call, type: Type): Promise<Reply> {
  const { face, address, body } = call;
  const known = face.documents.get(address.id);
  const location = readLocation(body, known);
  const given = part(body, 'properties');
  const creation = part(given, 'creationData');
  if (known === undefined && textAt(creation, 'createOption') === undefined) {
    throw new ArmError(
      400,
      'InvalidParameter',
      "Required parameter 'creationData.createOption' is missing (null).",
      {
        target: 'creationData.createOption',
      },
    );
  }
  const content = known === undefined ? await makeContent(call, type, location) : undefined;
  const sku = { name: textAt(body, 'sku', 'name') ?? textAt(known?.body, 'sku', 'name') ?? 'Standard_LRS' };
  const before = part(known?.body, 'properties');
  const asked = { ...topFields(body, []), ...zonesOf(body), sku, properties: echo(given) };
  const properties =
    known === undefined
      ? finished(call, type, given, content as Content, sku.name)
      : resized({ ...before, ...echo(given), creationData: before.creationData }, sku.name, type);
  const until = face.clock.now() + (creation.createOption === 'Copy' ? copyMs : workMs);
  const then = { ...asked, sku: { ...sku, tier: sku.name.split(/_|SSD/)[0] }, properties };
  const own = content === undefined ? known?.own : startedCopy(call, content);
  const document: Document = {
    ...documentOf(call, type, location, asked),
    ...(own === undefined ? {} : { own }),
    work: { state: 'Updating', until, then },
  };
  face.documents.set(document);
  const output = () => shown({ ...document, body: then }, 'Succeeded');
  const work = {
    poll: 'DiskOperations',
    location,
    monitored: true,
    state: timed(call, until, output),
  } as const;
  return accepted(call, 202, work, shown(document));
}

function zonesOf(body: Json): Json {
  return Array.isArray(body.zones) ? { zones: body.zones } : {};
}

function patch(call: Call, type: Type): Promise<Reply> {
  const { body, location } = requireDocument(call);
  const { properties: _, ...top } = body;
  return put({ ...call, body: { ...merge(top, call.body), location } }, type);
}

async function remove(call: Call, type: Type): Promise<Reply> {
  const found = call.face.documents.get(call.address.id);
  const holder = textAt(found?.body, 'managedBy');
  if (holder !== undefined) {
    throw new ArmError(409, 'OperationNotAllowed', `Disk ${found?.name} is attached to VM ${holder}.`);
  }
  if (type === 'snapshots' && typeof found?.own?.snapshot === 'string') {
    await call.face.cloud.disks.deleteSnapshot(found.own.snapshot, modelCall);
  }
  return deleteLater(call, 'DiskOperations', workMs);
}

/** Returns the bytes that the new disk or snapshot has. */
async function makeContent(call: Call, type: Type, location: string): Promise<Content> {
  const { face, address } = call;
  const given = part(call.body, 'properties');
  const creation = part(given, 'creationData');
  const option = textAt(creation, 'createOption') ?? '';
  const blob = `/md-${stableId(address.id, String(face.clock.now())).slice(0, 13).replace('-', '')}/disk/abcd`;
  if (option === 'Upload' || option === 'UploadPreparedSecure') {
    const bytes = Number(creation.uploadSizeBytes);
    if (!Number.isInteger(bytes) || bytes < 20_972_032 || bytes % 512 !== 0) {
      throw new ArmError(400, 'InvalidParameter', 'The value of parameter uploadSizeBytes is invalid.', {
        target: 'creationData.uploadSizeBytes',
      });
    }
    face.blobs.put(blob, bytes);
    return { digest: digestOf(blob), bytes: bytes - 512, blob, about: {} };
  }
  const source = sourceId(creation);
  const bytesAsked = Number(given.diskSizeGB ?? 0) * 2 ** 30;
  if (source === undefined) return { digest: digestOf(address.id, 'empty'), bytes: bytesAsked, about: {} };
  const found = findDocument(face, source);
  const isCopy = option === 'Copy' || option === 'CopyStart';
  if (isCopy && (found === undefined || (option === 'Copy' && found.location !== location))) {
    throw new ArmError(404, 'NotFound', `Resource ${source.split('/').at(-1)} is not found.`);
  }
  const content = contentOf(face, source);
  const state = content.blob === undefined ? undefined : face.blobs.get(content.blob)?.pages.state();
  if (state !== undefined) face.blobs.put(blob, state);
  const { blob: _, ...rest } = content;
  return {
    ...rest,
    bytes: Math.max(content.bytes, bytesAsked),
    ...(state === undefined ? {} : { blob }),
    ...(type === 'snapshots' ? await modelSnapshot(call, found) : {}),
  };
}

/** A snapshot of a machine's disk is one of the model, which knows what the disk holds. */
async function modelSnapshot(
  { face, address }: Call,
  disk: Document | undefined,
): Promise<{ snapshot?: string }> {
  const snapshot = `s${stableId(address.id, String(face.clock.now())).replaceAll('-', '').slice(0, 20)}`;
  if (typeof disk?.own?.disk !== 'string') return {};
  await face.cloud.disks.createSnapshot({ name: snapshot, disk: disk.own.disk, tags: {} }, modelCall);
  return { snapshot };
}

function sourceId(creation: Json): string | undefined {
  const reference = { ...part(creation, 'imageReference'), ...part(creation, 'galleryImageReference') };
  return (
    textAt(creation, 'sourceResourceId') ??
    textAt(creation, 'sourceUri') ??
    textAt(reference, 'communityGalleryImageId') ??
    textAt(reference, 'sharedGalleryImageId') ??
    textAt(reference, 'id')
  );
}

/** Returns the properties that Azure shows when the disk is there. */
function finished(call: Call, type: Type, given: Json, content: Content, sku: string): Json {
  const { architecture, ...about } = content.about;
  const creation = part(given, 'creationData');
  const source = sourceId(creation);
  const upload = String(creation.createOption).startsWith('Upload');
  const found = source === undefined ? undefined : findDocument(call.face, source);
  const copied = creation.createOption === 'Copy' || creation.createOption === 'CopyStart';
  const sourceUniqueId = copied ? part(found?.body, 'properties').uniqueId : undefined;
  const image = part(creation, 'galleryImageReference');
  const properties = {
    ...about,
    ...(architecture === undefined ? {} : { supportedCapabilities: { architecture } }),
    ...echo(given),
    creationData: {
      ...creation,
      ...(sourceUniqueId === undefined ? {} : { sourceUniqueId }),
      ...(Object.keys(image).length === 0 || source === undefined ? {} : { imageReference: { id: source } }),
    },
    diskSizeGB: gigabytes(content.bytes),
    ...encryptionOf(given, part(found?.body, 'properties'), copied),
    ...(type === 'snapshots' ? { incremental: given.incremental === true } : {}),
    ...(given.incremental === true
      ? { incrementalSnapshotFamilyId: stableId(source ?? call.address.id) }
      : {}),
    ...(creation.createOption === 'CopyStart' ? { completionPercent: 0 } : {}),
    networkAccessPolicy: given.networkAccessPolicy ?? 'AllowAll',
    publicNetworkAccess: given.publicNetworkAccess ?? 'Enabled',
    timeCreated: azureTime(call.face.clock.now()),
    diskState: upload ? 'ReadyToUpload' : 'Unattached',
    diskSizeBytes: content.bytes,
    uniqueId: stableId(call.address.id, String(call.face.clock.now())),
  };
  return resized(properties, sku, type);
}

/** A copy is encrypted as its source. */
function encryptionOf(given: Json, source: Json, copied: boolean): Json {
  const asked = copied && !('encryption' in given) ? part(source, 'encryption') : part(given, 'encryption');
  const key =
    'diskEncryptionSetId' in asked ? 'EncryptionAtRestWithCustomerKey' : 'EncryptionAtRestWithPlatformKey';
  const { securityProfile } = copied ? source : given;
  return {
    encryption: { type: key, ...asked },
    ...(securityProfile === undefined ? {} : { securityProfile }),
  };
}

function resized(properties: Json, sku: string, type: Type): Json {
  const size = Number(properties.diskSizeGB);
  const bytes = Math.max(Number(properties.diskSizeBytes), size * 2 ** 30);
  return { ...properties, diskSizeBytes: bytes, ...(type === 'disks' ? performanceOf(sku, size) : {}) };
}

function startedCopy({ face, body }: Call, content: Content): Json {
  const option = textAt(body, 'properties', 'creationData', 'createOption');
  const copy = option === 'CopyStart' ? { copiedFrom: face.clock.now() } : {};
  return { ...ownContent(content), ...copy };
}

/** A copy from another region continues when the snapshot exists, and shows how far it is. */
function progressed(call: Call): Call {
  const { face, address } = call;
  const found = face.documents.get(address.id);
  if (typeof found?.own?.copiedFrom !== 'number' || found.work !== undefined) return call;
  const done = Math.min(100, Math.floor(((face.clock.now() - found.own.copiedFrom) / regionCopyMs) * 100));
  face.documents.set({ ...found, body: merge(found.body, { properties: { completionPercent: done } }) });
  return call;
}
