// Galleries: made in the cloud model, shown with what the client sent, and shared.
import { ArmError, invalidParameter } from '../arm/arm-error.ts';
import { shown, stableId } from '../arm/documents.ts';
import { type Call, modelCall, type Routes } from '../arm/face.ts';
import { echo, type Json, listAt, merge, part, textAt } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';
import {
  accepted,
  deleteLater,
  documentOf,
  documentsFor,
  getDocument,
  page,
  readLocation,
  requireDocument,
  requireEmpty,
  timed,
  topFields,
} from '../arm/resource.ts';
import { ownName } from '../arm/resource-id.ts';
import { checkAzureName, modelNames } from './names.ts';

/** Recorded: less than a second. */
const workMs = 600;

export const galleryRoutes: Routes = {
  'PUT galleries/*': { budget: ['CreateUpdateGallery', 50, 300], answer: put },
  'PATCH galleries/*': { budget: ['CreateUpdateGallery', 50, 300], answer: patch },
  'GET galleries/*': { budget: ['GetGallery', 350, 2_500], answer: getDocument },
  'GET galleries': {
    budget: ['ListGalleryInResourceGroup', 100, 1_000],
    answer: async (call) =>
      page(
        call,
        documentsFor(call, 'galleries').map((one) => shown(one)),
      ),
  },
  'DELETE galleries/*': { budget: ['DeleteGallery', 50, 300], answer: remove },
  'POST galleries/share': { budget: ['PostShareGallery', 10, 60], answer: share },
};

async function put(call: Call): Promise<Reply> {
  const { face, address, body } = call;
  const name = ownName(address);
  checkAzureName('galleries', name);
  const known = face.documents.get(address.id);
  const location = readLocation(body, known);
  const twin = face.documents
    .ofType('galleries')
    .find((one) => one.name.toLowerCase() === name.toLowerCase());
  if (known === undefined && twin !== undefined) {
    throw new ArmError(
      409,
      'Conflict',
      `The gallery name '${name}' is already used in resource group '${twin.group}'.`,
    );
  }
  await face.cloud.galleries.createGallery(
    { name: modelNames(address).gallery, region: location },
    modelCall,
  );
  const given = echo(part(body, 'properties'));
  const sharing = sharingOf(
    call,
    part(given, 'sharingProfile'),
    part(known?.body, 'properties', 'sharingProfile'),
  );
  const softDeletePolicy = part(given, 'softDeletePolicy');
  const kept = {
    ...softDeletePolicy,
    ...(call.apiVersion < '2025-03-03' ? {} : { retentionPeriodInDays: 7 }),
  };
  const properties = {
    ...given,
    ...(softDeletePolicy.isSoftDeleteEnabled === true ? { softDeletePolicy: kept } : {}),
    identifier: { uniqueName: `${address.subscription}-${name.toUpperCase()}` },
    ...(Object.keys(sharing).length === 0 ? {} : { sharingProfile: sharing }),
  };
  const content = { ...topFields(body, ['identity']), properties };
  const until = face.clock.now() + workMs;
  const state = known === undefined ? 'Creating' : 'Updating';
  const document = { ...documentOf(call, 'galleries', location, content), work: { state, until } } as const;
  face.documents.set(document);
  const work = { poll: 'capsOperations', location, monitored: false, state: timed(call, until) } as const;
  return accepted(call, known === undefined ? 201 : 200, work, shown(document));
}

function patch(call: Call): Promise<Reply> {
  const { body, location } = requireDocument(call);
  return put({ ...call, body: { ...merge(body, call.body), location } });
}

/** A gallery keeps the public name that it got when it was made. */
function sharingOf({ address }: Call, asked: Json, known: Json): Json {
  if (Object.keys(asked).length === 0) return known;
  const info = part(asked, 'communityGalleryInfo');
  if (textAt(asked, 'permissions') !== 'Community') return asked;
  const prefix = textAt(info, 'publicNamePrefix');
  if (prefix === undefined) {
    throw invalidParameter('publicNamePrefix', "Required parameter 'publicNamePrefix' is missing (null).");
  }
  const before = part(known, 'communityGalleryInfo');
  const communityGalleryInfo = {
    communityGalleryEnabled: before.communityGalleryEnabled ?? false,
    ...info,
    publicNames: before.publicNames ?? [`${prefix}-${stableId(address.id)}`],
  };
  return { ...asked, communityGalleryInfo };
}

async function remove(call: Call): Promise<Reply> {
  requireEmpty(call, 'images');
  await call.face.cloud.galleries.deleteGallery(modelNames(call.address).gallery, modelCall);
  return deleteLater(call, 'capsOperations', workMs);
}

async function share(call: Call): Promise<Reply> {
  const id = call.address.id.replace(/\/share$/i, '');
  const gallery = requireDocument(call, id);
  const profile = shared(part(gallery.body, 'properties', 'sharingProfile'), call.body);
  const body = merge(gallery.body, { properties: {} });
  const properties = { ...part(body, 'properties'), sharingProfile: profile };
  call.face.documents.set({ ...gallery, body: { ...body, properties } });
  const until = call.face.clock.now() + workMs;
  const { location } = gallery;
  return accepted(call, 202, {
    poll: 'capsOperations',
    location,
    monitored: true,
    state: timed(call, until),
  });
}

/** Returns the sharing profile after an update of it. */
function shared(profile: Json, update: Json): Json {
  const kind = textAt(update, 'operationType');
  if (kind === 'Reset') return { permissions: 'Private' };
  if (kind === 'EnableCommunity') {
    if (textAt(profile, 'permissions') !== 'Community') {
      throw new ArmError(
        400,
        'BadRequest',
        'EnableCommunity needs a gallery whose permissions are Community.',
      );
    }
    const info = { ...part(profile, 'communityGalleryInfo'), communityGalleryEnabled: true };
    return { ...profile, communityGalleryInfo: info };
  }
  if (kind !== 'Add' && kind !== 'Remove') {
    throw invalidParameter('operationType', `The value '${kind}' of parameter 'operationType' is invalid.`);
  }
  if (textAt(profile, 'permissions') !== 'Groups') {
    throw new ArmError(
      400,
      'BadRequest',
      'Sharing with groups needs a gallery whose permissions are Groups.',
    );
  }
  return {
    ...profile,
    groups: changedGroups(listAt(profile, 'groups'), listAt(update, 'groups'), kind === 'Add'),
  };
}

function changedGroups(
  before: readonly unknown[],
  groups: readonly unknown[],
  add: boolean,
): readonly Json[] {
  const ids = new Map(before.map((group) => [textAt(group, 'type') ?? '', new Set(listAt(group, 'ids'))]));
  for (const group of groups) {
    const type = textAt(group, 'type') ?? '';
    const members = ids.get(type) ?? new Set();
    for (const id of listAt(group, 'ids')) {
      if (add) members.add(id);
      else members.delete(id);
    }
    ids.set(type, members);
  }
  return [...ids]
    .filter(([, members]) => members.size > 0)
    .map(([type, members]) => ({ type, ids: [...members] }));
}
