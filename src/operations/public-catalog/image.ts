// Reads one image of the public catalog, with its current state in galleries and the store. A gallery that does not
// respond is an error: a catalog without it would show its versions as gone.

import type { GalleryRecord } from '../../domain/gallery/gallery.ts';
import type { ImageRecord, VersionRecord } from '../../domain/image/version.ts';
import {
  type CatalogCopy,
  type CatalogImage,
  catalogImage,
  isListed,
} from '../../domain/public-catalog/catalog.ts';
import { kubernetesCalendar } from '../../domain/support/calendar.ts';
import { mergeDates } from '../../domain/support/support.ts';
import type { Catalogue } from '../../ports/database/catalog.ts';
import type { GalleryBook } from '../../ports/database/galleries.ts';
import type { Lifecycle } from '../../ports/database/lifecycle.ts';
import type { ImageStore } from '../../ports/image-store/image-store.ts';
import type { CallOptions } from '../../ports/provider/call.ts';
import type { Gallery } from '../../ports/provider/gallery.ts';
import type { Provider } from '../../ports/provider/provider.ts';
import { allPages } from '../common/all-pages.ts';
import { listGalleries, openGallery } from '../gallery/galleries.ts';

export interface CatalogDeps {
  readonly catalogue: Catalogue;
  readonly lifecycle: Pick<Lifecycle, 'support'>;
  readonly galleryBook: GalleryBook;
  readonly providers: readonly Provider[];
  readonly images?: Pick<ImageStore, 'find'> | undefined;
  readonly now: Date;
  readonly options: CallOptions;
}

export async function readCatalogImage(deps: CatalogDeps, image: ImageRecord): Promise<CatalogImage> {
  const versions: VersionRecord[] = [];
  for await (const version of allPages((query) => deps.catalogue.listVersions(image.name, query))) {
    if (isListed(version)) versions.push(version);
  }
  const [channels, dates, copies] = await Promise.all([
    deps.catalogue.listChannels(image.name),
    deps.lifecycle.support.list(),
    readCopies(deps, image.name),
  ]);
  const described = new Set<string>();
  for (const { digest } of versions) {
    if ((await deps.images?.find(digest)) !== undefined) described.add(digest);
  }
  return catalogImage({
    ...{ image, versions, channels, copies, described, now: deps.now },
    dates: mergeDates(kubernetesCalendar, dates),
  });
}

interface ShownGallery {
  readonly name: string;
  readonly gallery: Gallery;
  readonly azure?: GalleryRecord['azure'];
}

/** Returns the public galleries or, if none is registered, all galleries of the providers. */
async function shownGalleries({
  galleryBook,
  providers,
  options,
}: CatalogDeps): Promise<readonly ShownGallery[]> {
  const open = (await galleryBook.list()).filter((gallery) => gallery.public);
  if (open.length === 0) return listGalleries(providers, options);
  return open.map((record) => ({
    name: record.name,
    gallery: openGallery(providers, record),
    ...(record.azure && { azure: record.azure }),
  }));
}

async function readCopies(deps: CatalogDeps, image: string): Promise<readonly CatalogCopy[]> {
  const copies: CatalogCopy[] = [];
  for (const { name, gallery, azure } of await shownGalleries(deps)) {
    if ((await gallery.getImage(image, deps.options)) === undefined) continue;
    for await (const found of allPages((query) => gallery.listVersions(image, query, deps.options))) {
      const ready = found.regions.filter(({ state }) => state === 'ready').map(({ region }) => region);
      if (found.state === 'deleting' || (found.regions.length > 0 && ready.length === 0)) continue;
      if (found.regions.length === 0 && found.state !== 'ready') continue;
      copies.push({ gallery: name, version: found.version, regions: ready, ...(azure && { azure }) });
    }
  }
  return copies;
}
