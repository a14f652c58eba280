// Several simulated galleries side by side.
import type { Galleries, GallerySpec } from '../../../ports/provider/gallery.ts';
import { countRows, findGallery, type GalleryRow, toGallerySpec } from '../../common/gallery-rows.ts';
import { pageOf, rowsFor } from '../../common/paging.ts';
import { checkLimit, conflict, invalid } from '../../common/refusals.ts';
import { finds, lists, writes } from '../world/call.ts';
import { regionNamed, type SimContext } from '../world/context.ts';
import { simGallery } from './gallery.ts';

/** Azure's rule: no dash. */
const namePattern = /^[A-Za-z0-9](?:[A-Za-z0-9._]{0,78}[A-Za-z0-9])?$/;

export function simGalleries(context: SimContext): Galleries {
  const { call, world, abilities } = context;
  const showRegion = abilities.regions.length > 0;
  return {
    own: context.defaultGallery,
    createGallery: (spec, options) =>
      call(writes('galleries.createGallery', spec.name), options, () => createGallery(context, spec)),
    getGallery: (name, options) =>
      call(finds<GallerySpec>('galleries.getGallery', name), options, () => {
        const row = findGallery(world, name);
        return row && toGallerySpec(row, showRegion);
      }),
    listGalleries: (query, options) =>
      call(lists<GallerySpec>('galleries.listGalleries', ''), options, () => {
        const rows = world.all<GalleryRow>(
          'SELECT * FROM gallery WHERE name > ? ORDER BY name LIMIT ?',
          query.cursor ?? '',
          rowsFor(query),
        );
        return pageOf(
          query,
          rows,
          (row) => row.name,
          (row) => toGallerySpec(row, showRegion),
        );
      }),
    deleteGallery: (name, options) =>
      call(writes('galleries.deleteGallery', name), options, ({ failure }) => {
        if (failure === undefined) deleteGallery(context, name);
      }),
    open: (name) => simGallery(context, name),
  };
}

function createGallery(context: SimContext, spec: GallerySpec): void {
  const { world, limits } = context;
  if (!namePattern.test(spec.name)) {
    throw invalid(`The gallery name ${JSON.stringify(spec.name)} is not made of letters, digits, _ and .`);
  }
  const region = regionNamed(context, spec.region);
  const found = findGallery(world, spec.name);
  if (found !== undefined) {
    if (found.region === region) return;
    throw conflict(`Gallery ${spec.name} stands in ${found.region}, and cannot move to ${region}.`);
  }
  checkLimit('galleries', countRows(world, 'gallery') + 1, limits.galleries);
  world.insert('gallery', { name: spec.name, region, description: spec.description ?? null });
}

function deleteGallery({ world, defaultGallery }: SimContext, name: string): void {
  if (name === defaultGallery) throw conflict(`Gallery ${name} is the provider's own and stays.`);
  const images = world.get<{ count: number }>(
    'SELECT count(*) AS count FROM image WHERE gallery = ?',
    name,
  )?.count;
  if (images) throw conflict(`Gallery ${name} still has ${images} images.`);
  world.run('DELETE FROM gallery WHERE name = ?', name);
}
