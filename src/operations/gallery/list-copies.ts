// The copies that galleries hold, including those that others made.
import type { GalleryCopy } from '../../domain/cost/cost.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import { allPages } from '../common/all-pages.ts';
import { listGalleries } from './galleries.ts';

/** Of one image, or of all. A gallery that does not respond is an error: its copies would count as nothing. */
export async function listCopies(
  providers: readonly Provider[],
  only: string | undefined,
  options: CallOptions,
): Promise<readonly GalleryCopy[]> {
  const copies: GalleryCopy[] = [];
  for (const { name: place, gallery } of await listGalleries(providers, options)) {
    for await (const { name: image } of allPages((page) => gallery.listImages(page, options))) {
      if (only !== undefined && image !== only) continue;
      for await (const found of allPages((page) => gallery.listVersions(image, page, options))) {
        const { sizeBytes, version } = found;
        const regions = found.regions.map(({ region, replicas }) => ({ region, replicas }));
        copies.push({
          ...{ gallery: place, image, version },
          ...(sizeBytes === undefined ? {} : { sizeBytes }),
          // A gallery without regions has the version once, where it is.
          regions: regions.length === 0 ? [{ region: place, replicas: 1 }] : regions,
        });
      }
    }
  }
  return copies;
}
