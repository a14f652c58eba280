// Image versions: content, replication and deletion follow the rules of the cloud model; the rest is echoed.
import { ensureImagoError } from '../../domain/error/imago-error.ts';
import type { GalleryVersion, RegionTarget, VersionSource } from '../../ports/provider/gallery.ts';
import { ArmError, changeNotAllowed, invalidParameter, resourceNotFound } from '../arm/arm-error.ts';
import { type Document, shown } from '../arm/documents.ts';
import { type Call, type Face, modelCall, type Routes } from '../arm/face.ts';
import { echo, isObject, type Json, listAt, merge, part, textAt } from '../arm/json.ts';
import { azureTime, type OperationState, type Reply } from '../arm/operations.ts';
import { regionNames } from '../arm/regions.ts';
import {
  accepted,
  documentOf,
  page,
  readLocation,
  requireDocument,
  requireParent,
  timed,
  topFields,
  toRegion,
} from '../arm/resource.ts';
import { type Address, ownName, readAddress } from '../arm/resource-id.ts';
import {
  assumedBytes,
  contentOf,
  dataDisksOf,
  gigabytes,
  modelSourceOf,
  ownContent,
} from '../content/content.ts';
import { hiddenSince } from '../content/hidden.ts';
import { checkAzureName, modelNames } from './names.ts';

const states = {
  creating: 'Creating',
  updating: 'Updating',
  ready: 'Succeeded',
  failed: 'Failed',
  deleting: 'Deleting',
} as const;
const copyStates = {
  pending: 'Replicating',
  replicating: 'Replicating',
  ready: 'Completed',
  failed: 'Failed',
} as const;

/** Recorded; a version that was deleted softly is kept for a week. */
const softDeleteMs = 91_000;
const restoreMs = 150_000;
const keptMs = 7 * 24 * 3_600_000;

export const versionRoutes: Routes = {
  'PUT galleries/images/versions/*': { budget: ['CreateUpdateGalleryImageVersion', 375, 1_200], answer: put },
  'PATCH galleries/images/versions/*': {
    budget: ['CreateUpdateGalleryImageVersion', 375, 1_200],
    answer: patch,
  },
  'GET galleries/images/versions/*': { budget: ['GetGalleryImageVersion', 2_000, 10_000], answer: get },
  'GET galleries/images/versions': {
    budget: ['ListGalleryImageVersionsInGalleryImage', 1_500, 10_000],
    answer: list,
  },
  'DELETE galleries/images/versions/*': { budget: ['DeleteGalleryImageVersion', 150, 1_000], answer: remove },
};

async function get(call: Call): Promise<Reply> {
  const found = await view(call, requireDocument(call));
  if (found === undefined) throw resourceNotFound(call.address);
  return { status: 200, body: found };
}

async function list(call: Call): Promise<Reply> {
  requireDocument(call, call.address.id.split('/').slice(0, -1).join('/'));
  const found = await Promise.all(call.face.documents.inside(call.address.id).map((one) => view(call, one)));
  return page(
    call,
    found.filter((one) => one !== undefined),
  );
}

async function put(call: Call): Promise<Reply> {
  const { face, address, body } = call;
  checkAzureName('galleries/images/versions', ownName(address));
  const image = requireParent(call);
  const known = face.documents.get(address.id);
  if (known !== undefined && hiddenSince(known) !== undefined) return restore(call, known);
  const exists = known !== undefined && (await modelVersion(call, known)) !== undefined;
  const location = readLocation(body, exists ? known : undefined);
  const before = part(exists ? known.body : {}, 'properties');
  const properties = filled(call, part(body, 'properties'), before, location);
  const spec = specOf(call, properties);
  const model = modelNames(address);
  const gallery = face.cloud.galleries.open(model.gallery);
  if (exists) {
    if (sourceId(part(before, 'storageProfile')) !== sourceId(part(properties, 'storageProfile')))
      throw changeNotAllowed('galleryImageVersion.properties.storageProfile');
    const { source: _, ...change } = spec;
    const allowRegionRemoval = part(properties, 'safetyProfile').allowDeletionOfReplicatedLocations === true;
    await gallery.updateVersion(model.image, model.version, { ...change, allowRegionRemoval }, modelCall);
  } else {
    const tags = {};
    await gallery.createVersion({ ...spec, image: model.image, version: model.version, tags }, modelCall);
  }
  const content = { ...topFields(body, []), properties };
  const source = sourceId(part(properties, 'storageProfile'));
  const dataDisks = dataDisksOf(face, source);
  const document: Document = {
    ...documentOf(
      { ...call, address: canonical(address, image.id) },
      'galleries/images/versions',
      location,
      content,
    ),
    own: exists ? (known.own ?? {}) : { ...ownContent(contentOf(face, source)), dataDisks },
  };
  face.documents.set(document);
  const work = {
    poll: 'capsOperations',
    location,
    monitored: false,
    state: progress(call, document),
  } as const;
  const seen = await view(call, document);
  return accepted(
    call,
    exists ? 200 : 201,
    work,
    exists && seen !== undefined ? withoutValidation(seen) : seen,
  );
}

/** The answer to an update does not repeat it. */
function withoutValidation(seen: Json): Json {
  const { validationsProfile: _, ...properties } = part(seen, 'properties');
  return { ...seen, properties };
}

function patch(call: Call): Promise<Reply> {
  const { body, location } = requireDocument(call);
  return put({ ...call, body: { ...merge(body, call.body), location } });
}

async function remove(call: Call): Promise<Reply> {
  const found = call.face.documents.get(call.address.id);
  if (found === undefined || (await modelVersion(call, found)) === undefined) return { status: 204 };
  const { location } = found;
  if (isSoft(call)) {
    if (hiddenSince(found) !== undefined) return { status: 204 };
    const own = { ...found.own, softDeletedAt: call.face.clock.now() };
    call.face.documents.set({ ...found, own });
    const state = timed(call, call.face.clock.now() + softDeleteMs);
    return accepted(call, 202, { poll: 'capsOperations', location, monitored: true, state });
  }
  const model = modelNames(call.address);
  try {
    await call.face.cloud.galleries.open(model.gallery).deleteVersion(model.image, model.version, modelCall);
  } catch (thrown) {
    const error = ensureImagoError(thrown);
    if (error.code !== 'provider-conflict' || error.retryable) throw error;
    throw new ArmError(409, 'DeleteGalleryImageVersionBlockedBeforeEndOfLife', error.message);
  }
  const state = progress(call, found);
  return accepted(call, 202, { poll: 'capsOperations', location, monitored: true, state });
}

function isSoft({ face, address }: Call): boolean {
  const gallery = face.documents.get(address.id.replace(/\/images\/.*$/i, ''));
  return part(gallery?.body, 'properties', 'softDeletePolicy').isSoftDeleteEnabled === true;
}

/** A version that was deleted softly returns as it was; nothing else can be made under its name. */
async function restore(call: Call, known: Document): Promise<Reply> {
  const { face, body } = call;
  const { restore: asked, ...rest } = part(body, 'properties');
  if (asked !== true && Object.keys(rest).length > 0) {
    throw new ArmError(
      409,
      'Conflict',
      `The gallery image version '${known.name}' is soft deleted. Restore it, or delete it permanently first.`,
    );
  }
  const { softDeletedAt: _, ...own } = known.own ?? {};
  const until = face.clock.now() + restoreMs;
  const document = { ...known, own, work: { state: 'Updating', until } } as const;
  face.documents.set(document);
  const work = {
    poll: 'capsOperations',
    location: known.location,
    monitored: false,
    state: timed(call, until),
  } as const;
  return accepted(call, 200, work, shown(document));
}

/** Deletes a version that was hidden. */
export async function deleteForGood(face: Face, document: Document): Promise<void> {
  const { gallery, image, version } = modelNames(readAddress(document.id) ?? { subscription: '', names: [] });
  await face.cloud.galleries.open(gallery).deleteVersion(image, version, modelCall);
  face.documents.delete(document.id);
}

/** Keeps the case in which the parent was made. */
function canonical(address: Address, parent: string): Address {
  return { ...address, id: `${parent}/versions/${ownName(address)}` };
}

/** Fills in what Azure fills in. What an update leaves out stays as it is. */
function filled(call: Call, given: Json, before: Json, location: string): Json {
  const asked = part(given, 'publishingProfile');
  const known = part(before, 'publishingProfile');
  const kept = Object.keys(known).length > 0;
  const replicaCount = asked.replicaCount ?? known.replicaCount ?? 1;
  const storageAccountType = asked.storageAccountType ?? known.storageAccountType ?? 'Standard_LRS';
  const regions = listAt(asked, 'targetRegions').filter(isObject);
  const wanted = regions.length > 0 || kept ? regions : [{ name: location }];
  const targetRegions = wanted.map((region) => ({
    ...region,
    ...encryptionOf(region),
    name: displayName(textAt(region, 'name') ?? ''),
    regionalReplicaCount: region.regionalReplicaCount ?? replicaCount,
    storageAccountType: region.storageAccountType ?? storageAccountType,
  }));
  const publishingProfile = {
    ...known,
    ...echo(asked),
    targetRegions: wanted.length > 0 ? targetRegions : known.targetRegions,
    ...{ replicaCount, storageAccountType },
    excludeFromLatest: asked.excludeFromLatest ?? known.excludeFromLatest ?? false,
    publishedDate: known.publishedDate ?? azureTime(call.face.clock.now()),
  };
  const safety = { reportedForPolicyViolation: false, allowDeletionOfReplicatedLocations: false };
  return {
    ...echo(given),
    publishingProfile,
    storageProfile: storageOf(merge(part(before, 'storageProfile'), part(given, 'storageProfile'))),
    safetyProfile: { ...safety, ...part(before, 'safetyProfile'), ...part(given, 'safetyProfile') },
    validationsProfile: { validationOperationStatus: 'NotExecuted' },
  };
}

function storageOf(storage: Json): Json {
  const osDisk = part(storage, 'osDiskImage');
  const dataDisks = listAt(storage, 'dataDiskImages').filter(isObject);
  return {
    ...storage,
    ...(Object.keys(osDisk).length === 0 ? {} : { osDiskImage: { hostCaching: 'ReadWrite', ...osDisk } }),
    ...(dataDisks.length === 0
      ? {}
      : { dataDiskImages: dataDisks.map((disk) => ({ hostCaching: 'ReadOnly', ...disk })) }),
  };
}

/** The disk of an encrypted copy has a security profile, even an empty one. */
function encryptionOf(region: Json): Json {
  const osDisk = part(region, 'encryption', 'osDiskImage');
  if (Object.keys(osDisk).length === 0) return {};
  return { encryption: { ...part(region, 'encryption'), osDiskImage: { securityProfile: {}, ...osDisk } } };
}

function displayName(name: string): string {
  const found = regionNames.get(toRegion(name));
  if (found !== undefined) return found;
  throw invalidParameter(
    'publishingProfile.targetRegions',
    `The target region '${name}' is not a region of Azure.`,
  );
}

/** Returns the version in the terms of the model. */
function specOf(call: Call, properties: Json) {
  const publishing = part(properties, 'publishingProfile');
  const regions = listAt(publishing, 'targetRegions')
    .filter(isObject)
    .map(
      (region): RegionTarget => ({
        region: toRegion(textAt(region, 'name') ?? ''),
        replicas: Number(region.regionalReplicaCount),
        ...(typeof region.excludeFromLatest === 'boolean'
          ? { excludeFromLatest: region.excludeFromLatest }
          : {}),
      }),
    );
  const endOfLife = textAt(publishing, 'endOfLifeDate');
  return {
    source: sourceOf(call, part(properties, 'storageProfile')),
    regions,
    excludeFromLatest: publishing.excludeFromLatest === true,
    ...(endOfLife === undefined ? {} : { endOfLife }),
    blockDeletionBeforeEndOfLife: part(properties, 'safetyProfile').blockDeletionBeforeEndOfLife === true,
  };
}

/** Returns the id or address of the only source. */
function sourceId(storage: Json): string {
  const whole = part(storage, 'source');
  const disk = part(storage, 'osDiskImage', 'source');
  // The older form of a VHD names its storage account by `id`.
  const own = typeof disk.uri === 'string' ? disk.uri : disk.id;
  const given = [whole.id, whole.virtualMachineId, whole.communityGalleryImageId, own].filter(
    (one) => typeof one === 'string',
  );
  const [only] = given;
  if (only === undefined || given.length > 1) {
    throw invalidParameter('storageProfile', 'The storage profile must name exactly one source.');
  }
  return only;
}

/** A version of this subscription is copied in the model; of every other source its content is. */
function sourceOf({ face }: Call, storage: Json): VersionSource {
  const only = sourceId(storage);
  const address = readAddress(only);
  if (address?.type === 'galleries/images/versions' && address.subscription === face.subscription) {
    return { kind: 'version', ...modelNames(address) };
  }
  return modelSourceOf(face, contentOf(face, only));
}

function modelVersion({ face }: Call, { id }: Document): Promise<GalleryVersion | undefined> {
  const address = readAddress(id);
  if (address === undefined) return Promise.resolve(undefined);
  const { gallery, image, version } = modelNames(address);
  return face.cloud.galleries.open(gallery).getVersion(image, version, modelCall);
}

/** Returns the version as Azure shows it; `undefined` when its deletion has ended. */
async function view(call: Call, document: Document): Promise<Json | undefined> {
  const hidden = hiddenSince(document);
  if (hidden !== undefined) {
    if (call.face.clock.now() > hidden + keptMs) await deleteForGood(call.face, document);
    return undefined;
  }
  const version = await modelVersion(call, document);
  if (version === undefined) {
    call.face.documents.delete(document.id);
    return undefined;
  }
  const body = merge(document.body, arrived(document, version));
  const expand = call.query.get('$expand')?.toLowerCase() === 'replicationstatus';
  const replicationStatus = statusOf(version);
  return shown(
    { ...document, body: expand ? merge(body, { properties: { replicationStatus } }) : body },
    states[version.state],
  );
}

/** The sizes of the disks appear when the bytes have arrived. */
function arrived({ body, own }: Document, { sizeBytes }: GalleryVersion): Json {
  if (sizeBytes === undefined) return {};
  const storage = part(body, 'properties', 'storageProfile');
  const sizeInGB = Math.ceil(sizeBytes / 2 ** 30);
  const osDiskImage = {
    hostCaching: 'ReadWrite',
    source: {},
    ...part(storage, 'osDiskImage'),
    sizeInGB,
  };
  const dataDisks = listAt(storage, 'dataDiskImages').filter(isObject);
  const held = listAt(own, 'dataDisks').filter(isObject);
  const given = dataDisks.map((disk) => ({
    ...disk,
    sizeInGB: held.find(({ lun }) => lun === disk.lun)?.sizeInGB ?? gigabytes(assumedBytes),
  }));
  const luns = new Set(dataDisks.map(({ lun }) => lun));
  const dataDiskImages = [...given, ...held.filter(({ lun }) => !luns.has(lun))];
  const data = dataDiskImages.length === 0 ? {} : { dataDiskImages };
  return { properties: { storageProfile: { osDiskImage, ...data } } };
}

function statusOf({ regions, state }: GalleryVersion): Json {
  const summary = regions.map((region) => ({
    region: regionNames.get(region.region),
    state: copyStates[region.state],
    details: region.error?.message ?? '',
    progress: region.percent,
  }));
  const going = summary.some((one) => one.state === 'Replicating');
  const ended = state === 'failed' ? 'Failed' : 'Completed';
  return { aggregatedState: going ? 'InProgress' : ended, summary };
}

function progress(call: Call, document: Document): () => Promise<OperationState> {
  let endedAt: number | undefined;
  return async () => {
    const version = await modelVersion(call, document);
    if (version !== undefined && !['ready', 'failed'].includes(version.state))
      return { status: 'InProgress' };
    endedAt ??= call.face.clock.now();
    if (version?.state !== 'failed') return { status: 'Succeeded', endedAt };
    const { code = 'ReplicationFailed', message = 'The replication failed.' } = version.error ?? {};
    return { status: 'Failed', endedAt, error: { code, message } };
  };
}

/** Forgets the documents of versions whose deletion has ended. */
export async function forgetDeleted(call: Call): Promise<void> {
  const versions = call.face.documents.inside(`${call.address.id}/versions`);
  await Promise.all(versions.map((version) => view(call, version)));
}
