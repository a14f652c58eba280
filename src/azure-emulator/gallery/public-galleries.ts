// What others see of community and shared galleries: read only, region by region.
import { type ArmError, gone } from '../arm/arm-error.ts';
import type { Document } from '../arm/documents.ts';
import { type Call, modelCall, type Route, type Routes } from '../arm/face.ts';
import { isObject, type Json, listAt, part } from '../arm/json.ts';
import type { Reply } from '../arm/operations.ts';
import { page, toRegion } from '../arm/resource.ts';
import { readAddress } from '../arm/resource-id.ts';
import { findNamed, type PublicKind, type PublicThing } from '../content/public-names.ts';
import { modelNames } from './names.ts';

export const publicGalleryRoutes: Routes = { ...routesOf('community'), ...routesOf('shared') };

function routesOf(kind: PublicKind): Record<string, Route> {
  const base = `GET locations/${kind}galleries`;
  return {
    [`${base}/*`]: {
      budget: ['GetGallery', 350, 2_500],
      answer: async (call) => ok(galleryBody(call, kind, require(call, kind))),
    },
    [`${base}/images/*`]: {
      budget: ['GetGalleryArtifact', 600, 3_000],
      answer: async (call) => ok(imageBody(call, kind, require(call, kind))),
    },
    [`${base}/images`]: {
      budget: ['ListGalleryArtifact', 200, 200],
      answer: (call) => list(call, kind, 'images'),
    },
    [`${base}/images/versions/*`]: {
      budget: ['GetGalleryArtifactVersion', 2_000, 10_000],
      answer: async (call) => {
        const found = await versionBody(call, kind, require(call, kind));
        if (found === undefined) throw missing();
        return ok(found);
      },
    },
    [`${base}/images/versions`]: {
      budget: ['ListGalleryArtifactVersion', 800, 4_000],
      answer: (call) => list(call, kind, 'versions'),
    },
    ...(kind === 'community'
      ? {}
      : { [base]: { budget: ['ListGalleryArtifact', 200, 200], answer: listShared } }),
  };
}

function ok(body: Json): Reply {
  return { status: 200, body };
}

function missing(): ArmError {
  return gone();
}

function require({ face, address }: Call, kind: PublicKind): PublicThing {
  const [, name = '', ...inside] = address.names;
  const found = findNamed(face, kind, name, inside);
  if (found === undefined) throw missing();
  return found;
}

async function list(call: Call, kind: PublicKind, inside: 'images' | 'versions'): Promise<Reply> {
  const thing = require(call, kind);
  const documents = thing.face.documents.inside(`${thing.document.id}/${inside}`);
  const bodies = await Promise.all(
    documents.map((document) =>
      inside === 'images'
        ? imageBody(call, kind, { ...thing, document })
        : versionBody(call, kind, { ...thing, document }),
    ),
  );
  return page(
    call,
    bodies.filter((body) => body !== undefined),
  );
}

async function listShared(call: Call): Promise<Reply> {
  const galleries = call.face
    .faces()
    .flatMap((face) =>
      face.documents.ofType('galleries').map((gallery) => ({ face, gallery, document: gallery })),
    )
    .filter(({ gallery }) => part(gallery.body, 'properties', 'sharingProfile').permissions === 'Groups');
  return page(
    call,
    galleries.map((thing) => galleryBody(call, 'shared', thing)),
  );
}

/** Everything public has a location, a name, and an id that names no subscription. */
function common({ address }: Call, kind: PublicKind, { gallery, document }: PublicThing): Json {
  const properties = part(gallery.body, 'properties');
  const info = part(properties, 'sharingProfile', 'communityGalleryInfo');
  const publicName =
    kind === 'community' ? listAt(info, 'publicNames')[0] : part(properties, 'identifier').uniqueName;
  const [, image, version] = readAddress(document.id)?.names ?? [];
  const inside = `${image === undefined ? '' : `/Images/${image}`}${version === undefined ? '' : `/Versions/${version}`}`;
  const uniqueId = `/${kind === 'community' ? 'Community' : 'Shared'}Galleries/${publicName}${inside}`;
  return {
    location: address.names[0],
    name: document === gallery ? publicName : document.name,
    identifier: { uniqueId },
  };
}

function disclaimer(kind: PublicKind): Json {
  return kind === 'community' ? { disclaimer: 'https://aka.ms/community-gallery-disclaimer' } : {};
}

function galleryBody(call: Call, kind: PublicKind, thing: PublicThing): Json {
  if (kind === 'shared') return { ...common(call, kind, thing), properties: {} };
  const { publisherUri, publisherContact, eula, publicNames } = part(
    thing.gallery.body,
    'properties',
    'sharingProfile',
    'communityGalleryInfo',
  );
  const communityMetadata = { publisherUri, publisherContact, eula, publicNames };
  return {
    ...common(call, kind, thing),
    communityMetadata,
    properties: { communityMetadata, ...disclaimer(kind) },
  };
}

/** The identifier of a community image is not shown before 2024. */
function imageBody(call: Call, kind: PublicKind, thing: PublicThing): Json {
  const {
    osType,
    osState,
    hyperVGeneration,
    architecture,
    features,
    endOfLifeDate,
    recommended,
    purchasePlan,
    ...rest
  } = part(thing.document.body, 'properties');
  const hidden = { publisher: '', offer: '', sku: '' };
  const properties = {
    ...disclaimer(kind),
    ...{ osType, osState, recommended: recommended ?? {}, hyperVGeneration, architecture },
    ...Object.fromEntries(
      Object.entries({ features, endOfLifeDate, purchasePlan }).filter(([, value]) => value !== undefined),
    ),
    identifier: kind === 'community' ? hidden : rest.identifier,
  };
  return { ...common(call, kind, thing), properties };
}

/** Returns the version if it is ready in that region. */
async function versionBody(call: Call, kind: PublicKind, thing: PublicThing): Promise<Json | undefined> {
  const { document, face } = thing;
  const found = await modelVersion(face, document);
  const region = toRegion(call.address.names[0] ?? '');
  const copy = found?.regions.find((one) => one.region === region);
  if (found === undefined || copy?.state !== 'ready') return undefined;
  const publishing = part(document.body, 'properties', 'publishingProfile');
  const dataDisks = listAt(document.own, 'dataDisks').filter(isObject);
  const dataDiskImages = dataDisks.map(({ lun, sizeInGB, hostCaching }) => ({
    lun,
    diskSizeGB: sizeInGB,
    hostCaching,
  }));
  const properties = {
    ...disclaimer(kind),
    publishedDate: publishing.publishedDate,
    ...(publishing.endOfLifeDate === undefined ? {} : { endOfLifeDate: publishing.endOfLifeDate }),
    excludeFromLatest: copy.excludeFromLatest ?? found.excludeFromLatest,
    storageProfile: {
      osDiskImage: { diskSizeGB: Math.ceil((found.sizeBytes ?? 0) / 2 ** 30), hostCaching: 'ReadWrite' },
      ...(dataDiskImages.length === 0 ? {} : { dataDiskImages }),
    },
  };
  return { ...common(call, kind, thing), properties };
}

function modelVersion(face: PublicThing['face'], { id }: Document) {
  const address = readAddress(id);
  const { gallery, image, version } = modelNames(address ?? { subscription: '', names: [] });
  return face.cloud.galleries.open(gallery).getVersion(image, version, modelCall);
}
