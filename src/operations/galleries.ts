// Every gallery that there is, of every provider: for what must be told or deleted wherever a version was copied to.
import type { CallOptions, Provider } from '../ports/provider.ts';
import type { Gallery } from '../ports/provider-gallery.ts';
import { allPages } from './all-pages.ts';

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
