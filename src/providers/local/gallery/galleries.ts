// Several galleries side by side, all over one store.
import type { Galleries, GallerySpec } from '../../../ports/provider/gallery.ts';
import { findGallery, type GalleryRow, toGallerySpec } from '../../common/gallery-rows.ts';
import { pageOf, rowsFor } from '../../common/paging.ts';
import { conflict, invalid } from '../../common/refusals.ts';
import { change, type LocalContext, look } from '../state/context.ts';
import { localGallery } from './gallery.ts';

/** As Azure has it: no dash. */
const namePattern = /^[A-Za-z0-9](?:[A-Za-z0-9._]{0,30}[A-Za-z0-9])?$/;

export function localGalleries(context: LocalContext): Galleries {
  const { world } = context;
  return {
    own: context.defaultGallery,
    createGallery: (spec, options) =>
      change(context, `gallery ${spec.name}`, options, () => createGallery(context, spec)),
    getGallery: (name, options) =>
      look(context, options, () => {
        const row = findGallery(world, name);
        return row && toGallerySpec(row, false);
      }),
    listGalleries: (query, options) =>
      look(context, options, () => {
        const rows = world.all<GalleryRow>(
          'SELECT * FROM gallery WHERE name > ? ORDER BY name LIMIT ?',
          query.cursor ?? '',
          rowsFor(query),
        );
        return pageOf(
          query,
          rows,
          (row) => row.name,
          (row) => toGallerySpec(row, false),
        );
      }),
    deleteGallery: (name, options) =>
      change(context, `the end of gallery ${name}`, options, () => deleteGallery(context, name)),
    open: (name) => localGallery(context, name),
  };
}

function createGallery({ world }: LocalContext, { name, region, description }: GallerySpec): void {
  if (!namePattern.test(name)) {
    throw invalid(`The gallery name ${JSON.stringify(name)} is not made of letters, digits, _ and .`);
  }
  if (region !== undefined) throw invalid('The local provider has no regions.');
  if (findGallery(world, name) !== undefined) return;
  world.insert('gallery', { name, region: 'local', description: description ?? null });
}

function deleteGallery({ world, defaultGallery }: LocalContext, name: string): void {
  if (name === defaultGallery) throw conflict(`Gallery ${name} is the provider's own and stays.`);
  const images = world.get<{ count: number }>(
    'SELECT count(*) AS count FROM image WHERE gallery = ?',
    name,
  )?.count;
  if (images) throw conflict(`Gallery ${name} still has ${images} images.`);
  world.run('DELETE FROM gallery WHERE name = ?', name);
}
