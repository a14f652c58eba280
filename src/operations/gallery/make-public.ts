// A gallery becomes public only when it holds nothing that others must not see: publication asks about the gallery, and
// this asks about what was published to it before.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { GalleryRecord } from '../../domain/gallery/gallery.ts';
import type { Catalogue } from '../../ports/database/catalog.ts';
import type { GalleryBook } from '../../ports/database/galleries.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import { allPages } from '../common/all-pages.ts';
import { openGallery } from './galleries.ts';

export interface MakePublicDeps {
  readonly catalogue: Pick<Catalogue, 'listVersions' | 'getImage'>;
  readonly galleryBook: GalleryBook;
  readonly provider: Provider;
  readonly options: CallOptions;
}

type NewGallery = Omit<GalleryRecord, 'at'>;

/** Throws `channel-restricted`, with all that is in the way. A gallery that does not answer stays as it is. */
export async function checkMayBePublic(deps: MakePublicDeps, gallery: NewGallery): Promise<void> {
  const held = await restrictedIn(deps, gallery);
  if (held.length === 0) return;
  const [named, more] = [held.slice(0, 5).join(', '), held.length - 5];
  throw new ImagoError(
    'channel-restricted',
    `Gallery ${gallery.name} cannot be public: it holds ${named}${more > 0 ? ` and ${more} more` : ''} with private inputs.`,
    {
      hint: 'Delete them from it first, or make another gallery public. This cannot be overridden.',
      details: { versions: [...held] },
    },
  );
}

/**
 * Records it as public. What was published in the meantime, while it was not public, is looked for afterwards, and then
 * the record is as it was before: of the two, at least one sees the other.
 */
export async function makePublic(deps: MakePublicDeps, gallery: NewGallery): Promise<GalleryRecord> {
  const { galleryBook } = deps;
  const before = await galleryBook.get(gallery.name);
  const made = await galleryBook.set(gallery);
  if (before?.public === true) return made;
  try {
    await checkMayBePublic(deps, gallery);
  } catch (error) {
    await (before === undefined ? galleryBook.remove(gallery.name) : galleryBook.set(before));
    throw error;
  }
  return made;
}

async function restrictedIn(
  { catalogue, provider, options }: MakePublicDeps,
  gallery: NewGallery,
): Promise<readonly string[]> {
  const place = gallery.place ?? provider.galleries?.own;
  if (place !== undefined && (await provider.galleries?.getGallery(place, options)) === undefined) return [];
  const open = openGallery([provider], gallery);
  const held: string[] = [];
  for await (const { name } of allPages((query) => open.listImages(query, options))) {
    const restricted = await restrictedOf(catalogue, name);
    if (restricted.size === 0) continue;
    for await (const { version } of allPages((query) => open.listVersions(name, query, options))) {
      if (restricted.has(version)) held.push(`${name}:${version}`);
    }
  }
  return held;
}

/** Also deleted ones: their copies may be there still. */
async function restrictedOf(
  catalogue: MakePublicDeps['catalogue'],
  image: string,
): Promise<ReadonlySet<string>> {
  const numbers = new Set<string>();
  if ((await catalogue.getImage(image)) === undefined) return numbers;
  for await (const { version, restricted } of allPages((query) => catalogue.listVersions(image, query))) {
    if (restricted === true) numbers.add(version);
  }
  return numbers;
}
