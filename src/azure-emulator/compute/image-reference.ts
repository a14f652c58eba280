// What an image reference means: a version of a gallery, its newest one, a managed image, or one of the Marketplace.
import type { GalleryVersion } from '../../ports/provider/gallery.ts';
import { ArmError, invalidParameter } from '../arm/arm-error.ts';
import { type Face, modelCall } from '../arm/face.ts';
import { type Json, listAt, part, textAt } from '../arm/json.ts';
import { readAddress } from '../arm/resource-id.ts';
import { aboutMarketplace, type Content, contentOf, digestOf, findDocument } from '../content/content.ts';
import { hiddenSince } from '../content/hidden.ts';
import { findPublic } from '../content/public-names.ts';
import { modelNames } from '../gallery/names.ts';

export interface ResolvedImage {
  /** The version in the terms of the model. */
  readonly model: { readonly gallery: string; readonly image: string; readonly version: string };
  readonly exactVersion: string | undefined;
  readonly osType: string;
  readonly bytes: number;
  /** The id of the version, for a gallery. */
  readonly source: string | undefined;
  readonly generation: 'V1' | 'V2';
}

/** Throws what Azure says when the image cannot be had in that region. */
export async function resolveImage(face: Face, reference: Json, location: string): Promise<ResolvedImage> {
  const shared = textAt(reference, 'communityGalleryImageId') ?? textAt(reference, 'sharedGalleryImageId');
  const id = shared ?? textAt(reference, 'id');
  if (id === undefined) return marketplaceImage(face, reference, location);
  const type = readAddress(id)?.type;
  if (shared !== undefined || type?.startsWith('galleries/')) return galleryImage(face, id, location);
  const found = findDocument(face, id);
  if (found === undefined) throw new ArmError(404, 'NotFound', `The image '${id}' was not found.`);
  const content = contentOf(face, id);
  return foreign(face, location, content, { key: id, exactVersion: undefined, source: undefined });
}

async function galleryImage(face: Face, id: string, location: string): Promise<ResolvedImage> {
  const named = findPublic(face, id);
  const address = readAddress(named?.document.id ?? id);
  const owner = face.faces().find((one) => one.subscription === address?.subscription.toLowerCase());
  const missing = () =>
    new ArmError(
      404,
      'GalleryImageNotFound',
      `The gallery image ${id} is not available in ${location} region. Please contact image owner to replicate to this region, or change your requested region.`,
      { target: 'imageReference' },
    );
  if (address === undefined || owner === undefined) throw missing();
  const { gallery, image, version } = modelNames(address);
  const wanted = version === '' ? await latest(owner, address.id, { gallery, image }, location) : version;
  const found =
    wanted === undefined ? undefined : await versionOf(owner, { gallery, image, version: wanted });
  const copy = found?.regions.find(({ region }) => region === location);
  const document = owner.documents.get(`${address.id.replace(/\/versions\/[^/]+$/i, '')}/versions/${wanted}`);
  const hidden = document !== undefined && hiddenSince(document) !== undefined;
  if (wanted === undefined || copy?.state !== 'ready' || found?.state === 'deleting' || hidden)
    throw missing();
  const definition = address.id.replace(/\/versions\/[^/]+$/i, '');
  const source = `${definition}/versions/${wanted}`;
  const content = contentOf(owner, source);
  if (owner !== face) return foreign(face, location, content, { key: source, exactVersion: wanted, source });
  return {
    model: { gallery, image, version: wanted },
    ...{ exactVersion: wanted, source, bytes: found?.sizeBytes ?? content.bytes },
    ...aboutOf(content),
  };
}

function versionOf(face: Face, { gallery, image, version }: ResolvedImage['model']) {
  return face.cloud.galleries.open(gallery).getVersion(image, version, modelCall);
}

/** The highest number that is ready in the region and not excluded there. */
async function latest(
  face: Face,
  definition: string,
  { gallery, image }: { readonly gallery: string; readonly image: string },
  location: string,
): Promise<string | undefined> {
  const open = face.cloud.galleries.open(gallery);
  const found: GalleryVersion[] = [];
  let cursor: string | undefined;
  do {
    const query = { limit: 500, ...(cursor === undefined ? {} : { cursor }) };
    const page = await open.listVersions(image, query, modelCall);
    found.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  const usable = found.filter((version) => {
    const copy = version.regions.find(({ region }) => region === location);
    const document = face.documents.get(`${definition}/versions/${version.version}`);
    if (document !== undefined && hiddenSince(document) !== undefined) return false;
    return copy?.state === 'ready' && !(copy.excludeFromLatest ?? version.excludeFromLatest);
  });
  return usable
    .map(({ version }) => version)
    .sort(byNumber)
    .at(-1);
}

function byNumber(a: string, b: string): number {
  const [left, right] = [a, b].map((text) => text.split('.').map(Number));
  for (const index of [0, 1, 2]) {
    const difference = (left?.[index] ?? 0) - (right?.[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

function marketplaceImage(face: Face, reference: Json, location: string): ResolvedImage {
  const { publisher, offer, sku, version } = reference;
  if ([publisher, offer, sku, version].some((one) => typeof one !== 'string')) {
    throw invalidParameter('imageReference', "Required parameter 'imageReference' is missing (null).");
  }
  const key = `${publisher}/${offer}/${sku}/${version}`;
  const about = aboutMarketplace(`${publisher}/${offer}/skus/${sku}`);
  const bytes = (about.osType === 'Windows' ? 127 : 30) * 2 ** 30;
  const exactVersion = version === 'latest' ? '1.0.0' : String(version);
  return foreign(
    face,
    location,
    { digest: digestOf(key), bytes, about },
    { key, exactVersion, source: undefined },
  );
}

/** An image of someone else: the model has it in a gallery that no client sees. */
function foreign(
  face: Face,
  region: string,
  content: Content,
  { key, exactVersion, source }: { readonly key: string } & Pick<ResolvedImage, 'exactVersion' | 'source'>,
): ResolvedImage {
  const image = `i${digestOf(key.toLowerCase()).slice(7, 27)}`;
  const model = { gallery: 'foreign', image, version: '1.0.0' };
  const about = aboutOf(content);
  face.cloud.world.addVersionByOther({
    ...model,
    ...{ region, diskDigest: content.digest, diskBytes: content.bytes },
    definition: {
      os: about.osType === 'Windows' ? 'windows' : 'linux',
      ...{ architecture: 'x64', osState: 'generalized' },
      generation: about.generation === 'V2' ? 2 : 1,
    },
  });
  return { model, exactVersion, source, bytes: content.bytes, ...about };
}

function aboutOf({ about }: Content): Pick<ResolvedImage, 'osType' | 'generation'> {
  return {
    osType: textAt(about, 'osType') ?? 'Linux',
    generation: about.hyperVGeneration === 'V2' ? 'V2' : 'V1',
  };
}

export function imageDataDisks(face: Face, { source }: ResolvedImage): readonly unknown[] {
  const version = source === undefined ? undefined : findDocument(face, source);
  return listAt(part(version?.body, 'properties', 'storageProfile'), 'dataDiskImages');
}
