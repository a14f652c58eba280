// Galleries of the resource group, and the images in them. In Azure an image is an image definition.

import { busy, conflict, invalid } from '../../../domain/error/refusals.ts';
import { checkName } from '../../../domain/value/name.ts';
import type { CallOptions } from '../../../ports/provider/call.ts';
import type {
  Galleries,
  Gallery,
  GalleryImage,
  GalleryLimit,
  GallerySpec,
} from '../../../ports/provider/gallery.ts';
import { at, groupIn } from '../arm/address.ts';
import { isAbsent } from '../arm/client.ts';
import type { Body, Resource, WireGallery, WireImage, WireVersion } from '../arm/wire.ts';
import { type AzureContext, stateOf, toRegion } from '../context.ts';
import { galleryVersions } from './versions.ts';

const galleryNamePattern = /^[A-Za-z0-9](?:[\w.]{0,78}[A-Za-z0-9])?$/;
/** Per subscription and region, so one image alone can have all versions; the last one is of each version. */
const limits = {
  ...{ galleries: 100, images: 1_000, versions: 10_000 },
  ...{ 'versions-per-image': 10_000, 'replicas-per-version': 100 },
} as const;
const publisher = 'imago';

export function azureGalleries(context: AzureContext): Galleries {
  const { arm, listings, ownGallery, location } = context;
  return {
    own: ownGallery,
    createGallery: (spec, options) => createGallery(context, spec, options),
    async getGallery(name, { signal }) {
      signal.throwIfAborted();
      checkGalleryName(name);
      const found = await arm.get<Resource<WireGallery>>(at('galleries', name), signal);
      if (found !== undefined) return toGallery(found);
      return name === ownGallery ? { name, region: location } : undefined;
    },
    listGalleries: (query, { signal }) =>
      listings.page(
        'galleries',
        query,
        async () => {
          const found = (await arm.list<Resource<WireGallery>>(at('galleries'), signal)).map(toGallery);
          const own = found.some(({ name }) => name.toLowerCase() === ownGallery.toLowerCase());
          return own ? found : [...found, { name: ownGallery, region: location }];
        },
        ({ name }) => name,
      ),
    async deleteGallery(name, { signal }) {
      signal.throwIfAborted();
      checkGalleryName(name);
      if (name === ownGallery) throw conflict(`Gallery ${name} is the provider's own and stays.`);
      await arm.finish(await arm.delete(at('galleries', name), signal), signal);
    },
    open: (name) => azureGallery(context, name),
  };
}

/** Refused before the call, because the error of Azure names only the rule. */
function checkGalleryName(name: string): void {
  if (galleryNamePattern.test(name)) return;
  const dash = name.includes('-')
    ? ' A dash is in names of community galleries, which cannot be written to.'
    : '';
  throw invalid(
    `The gallery name ${JSON.stringify(name)} is not letters, digits, _ and ., at most 80.${dash}`,
  );
}

async function createGallery(
  { arm, location }: AzureContext,
  { name, region = location, description }: GallerySpec,
  { signal }: CallOptions,
): Promise<void> {
  signal.throwIfAborted();
  checkGalleryName(name);
  const address = at('galleries', name);
  const found = await arm.get<Resource<WireGallery>>(address, signal);
  if (found !== undefined) {
    if (stateOf(found.properties.provisioningState) === 'deleting')
      throw busy(`Gallery ${name} is being deleted.`);
    if (toRegion(found.location) === toRegion(region)) return;
    throw conflict(`Gallery ${name} is in ${toRegion(found.location)}, and cannot move to ${region}.`);
  }
  const body: Body<WireGallery> = {
    location: region,
    tags: { 'imago-made': 'gallery' },
    properties: { ...(description === undefined ? {} : { description }) },
  };
  await arm.finish(await arm.put(address, body, signal), signal);
}

function toGallery({ name, location, properties: { description } }: Resource<WireGallery>): GallerySpec {
  return { name, region: toRegion(location), ...(description === undefined ? {} : { description }) };
}

export function azureGallery(context: AzureContext, gallery: string): Gallery {
  const { arm, listings } = context;
  const read = async (name: string, signal: AbortSignal) =>
    arm.get<Resource<WireImage>>(at('galleries/images', gallery, name), signal);
  return {
    async createImage(image, options) {
      const { signal } = options;
      signal.throwIfAborted();
      checkName('image', image.name);
      const found = await read(image.name, signal);
      if (found !== undefined) return adoptImage(found, image);
      const put = () => putImage(context, gallery, image, signal);
      try {
        await put();
      } catch (thrown) {
        // The provider's own gallery is made with its first image.
        if (gallery !== context.ownGallery || !isAbsent(thrown)) throw thrown;
        await createGallery(context, { name: gallery }, options);
        await put();
      }
    },
    async getImage(name, { signal }) {
      signal.throwIfAborted();
      const found = await read(name, signal);
      return found && toImage(found);
    },
    listImages: (query, { signal }) =>
      listings.page(
        `images of ${gallery}`,
        query,
        () => listImages(context, gallery, signal),
        ({ name }) => name,
      ),
    async deleteImage(name, { signal }) {
      signal.throwIfAborted();
      await arm.finish(await arm.delete(at('galleries/images', gallery, name), signal), signal);
    },
    ...galleryVersions(context, gallery),
    limits: ({ signal, image }) =>
      countLimits(context, signal, image === undefined ? undefined : { gallery, image }),
  };
}

/** The provider's own gallery is empty until it is made. */
async function listImages(
  { arm, ownGallery }: AzureContext,
  gallery: string,
  signal: AbortSignal,
): Promise<readonly GalleryImage[]> {
  try {
    return (await arm.list<Resource<WireImage>>(at('galleries/images', gallery), signal)).map(toImage);
  } catch (thrown) {
    if (gallery === ownGallery && isAbsent(thrown)) return [];
    throw thrown;
  }
}

async function putImage(
  { arm, location }: AzureContext,
  gallery: string,
  image: GalleryImage,
  signal: AbortSignal,
): Promise<void> {
  const home = await arm.get<Resource<WireGallery>>(at('galleries', gallery), signal);
  const body: Body<WireImage> = {
    location: home?.location ?? location,
    tags: { 'imago-made': 'image' },
    properties: {
      osType: image.os === 'windows' ? 'Windows' : 'Linux',
      osState: image.osState === 'specialized' ? 'Specialized' : 'Generalized',
      hyperVGeneration: `V${image.generation}`,
      architecture: image.architecture === 'arm64' ? 'Arm64' : 'x64',
      identifier: { publisher, offer: image.name, sku: image.name },
      ...features(image),
      ...(image.description === undefined ? {} : { description: image.description }),
    },
  };
  await arm.finish(await arm.put(at('galleries/images', gallery, image.name), body, signal), signal);
}

/** Stated, because Azure's defaults change with the version of its API. Absent: security type Standard. */
function features({ generation }: GalleryImage): Pick<WireImage, 'features'> {
  if (generation === 1) return {};
  return {
    features: [
      { name: 'IsAcceleratedNetworkSupported', value: 'True' },
      { name: 'DiskControllerTypes', value: 'SCSI, NVMe' },
    ],
  };
}

function adoptImage(found: Resource<WireImage>, wanted: GalleryImage): void {
  const { name } = wanted;
  if (stateOf(found.properties.provisioningState) === 'deleting')
    throw busy(`Image ${name} is being deleted.`);
  const has = toImage(found);
  for (const field of ['os', 'architecture', 'generation', 'osState'] as const) {
    const asked = wanted[field] ?? 'generalized';
    if ((has[field] ?? 'generalized') === asked) continue;
    throw conflict(`Image ${name} exists with ${field} ${has[field]}, and cannot have ${asked}.`);
  }
}

function toImage({ name, properties }: Resource<WireImage>): GalleryImage {
  const { description, osState } = properties;
  return {
    name,
    os: properties.osType === 'Windows' ? 'windows' : 'linux',
    architecture: properties.architecture === 'Arm64' ? 'arm64' : 'x64',
    generation: properties.hyperVGeneration === 'V2' ? 2 : 1,
    osState: osState === 'Specialized' ? 'specialized' : 'generalized',
    ...(description === undefined ? {} : { description }),
  };
}

/**
 * Counts everything in the subscription, also what others made, by the region in which galleries stand. For an image,
 * only the region of its gallery.
 */
async function countLimits(
  { arm, location }: AzureContext,
  signal: AbortSignal,
  only?: { readonly gallery: string; readonly image: string },
): Promise<readonly GalleryLimit[]> {
  signal.throwIfAborted();
  const galleries = await arm.list<Resource<WireGallery>>({ ...at('galleries'), group: '' }, signal);
  const asked = galleries.find(({ name }) => name.toLowerCase() === only?.gallery.toLowerCase());
  const home = toRegion(asked?.location ?? location);
  const found = only === undefined ? galleries.map((one) => toRegion(one.location)) : [];
  const counts: GalleryLimit[] = [];
  for (const region of new Set([home, ...found])) {
    const here = galleries.filter((one) => toRegion(one.location) === region);
    const used = await countRegion(arm, here, signal, only);
    for (const name of Object.keys(limits) as (keyof typeof limits)[]) {
      counts.push({ name, region, used: used[name], limit: limits[name] });
    }
  }
  return counts;
}

async function countRegion(
  arm: AzureContext['arm'],
  galleries: readonly Resource<WireGallery>[],
  signal: AbortSignal,
  only: { readonly gallery: string; readonly image: string } | undefined,
): Promise<Readonly<Record<keyof typeof limits, number>>> {
  let images = 0;
  let versions = 0;
  let replicas = 0;
  let inImage = 0;
  for (const { name, id } of galleries) {
    const list = <P>(type: string, ...names: readonly string[]) =>
      arm.list<Resource<P>>({ ...at(type, name, ...names), group: groupIn(id) }, signal).catch(none);
    const found = await list<WireImage>('galleries/images');
    images += found.length;
    for (const image of found) {
      const inside = await list<WireVersion>('galleries/images/versions', image.name);
      versions += inside.length;
      const isAsked = only === undefined || (only.gallery === name && only.image === image.name);
      if (isAsked) inImage = Math.max(inImage, inside.length);
      replicas = Math.max(replicas, ...inside.map(replicasOf));
    }
  }
  return {
    ...{ galleries: galleries.length, images, versions },
    ...{ 'versions-per-image': inImage, 'replicas-per-version': replicas },
  };
}

/** It was deleted since it was listed. */
function none(thrown: unknown): readonly never[] {
  if (isAbsent(thrown)) return [];
  throw thrown;
}

function replicasOf({ properties: { publishingProfile } }: Resource<WireVersion>): number {
  const counts = (publishingProfile?.targetRegions ?? []).map((region) => region.regionalReplicaCount ?? 1);
  return counts.reduce((sum, count) => sum + count, 0);
}
