// Lists the galleries of every provider, to update or delete a version wherever it was copied to.
import { ImagoError } from '../../domain/error/imago-error.ts';
import type { GalleryRecord } from '../../domain/gallery/gallery.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { Gallery } from '../../ports/provider/gallery.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import { allPages } from '../common/all-pages.ts';

export interface KnownGallery {
  /** `sim`, or `azure/production` where a provider has several. */
  readonly name: string;
  readonly provider: Provider;
  readonly gallery: Gallery;
}

export async function listGalleries(
  providers: readonly Provider[],
  options: CallOptions,
): Promise<readonly KnownGallery[]> {
  const found: KnownGallery[] = [];
  for (const provider of providers) {
    const { galleries, gallery } = provider;
    if (galleries === undefined) {
      if (gallery !== undefined) found.push({ name: provider.name, provider, gallery });
      continue;
    }
    for await (const { name } of allPages((query) => galleries.listGalleries(query, options))) {
      found.push({ name: `${provider.name}/${name}`, provider, gallery: galleries.open(name) });
    }
  }
  return found;
}

/** Opens a registered gallery. Throws `provider-unknown` or `provider-lacks`. */
export function openGallery(
  providers: readonly Provider[],
  { name, provider: owner, place }: Pick<GalleryRecord, 'name' | 'provider' | 'place'>,
): Gallery {
  const provider = providers.find((known) => known.name === owner);
  if (provider === undefined) {
    throw new ImagoError('provider-unknown', `Gallery ${name} is one of ${owner}, which is not loaded here.`);
  }
  const gallery = place === undefined ? provider.gallery : provider.galleries?.open(place);
  if (gallery !== undefined) return gallery;
  throw new ImagoError('provider-lacks', `Provider ${owner} has no gallery ${place ?? 'of its own'}.`);
}
