// One local gallery: its images, its versions, and how full the disk under it is.
import { statfs } from 'node:fs/promises';
import { checkName } from '../../../domain/value/name.ts';
import type { Gallery, GalleryImage, GalleryLimit } from '../../../ports/provider/gallery.ts';
import {
  adoptImage,
  findImage,
  type ImageRow,
  requireGallery,
  toGalleryImage,
} from '../../common/gallery-rows.ts';
import { pageOf, rowsFor } from '../../common/paging.ts';
import { busy, conflict } from '../../common/refusals.ts';
import { change, type LocalContext, look } from '../state/context.ts';
import { localGalleryVersions } from './versions.ts';

export function localGallery(context: LocalContext, gallery: string): Gallery {
  const { world } = context;
  return {
    createImage: (image, options) =>
      change(context, `image ${image.name}`, options, () => createImage(context, gallery, image)),
    getImage: (name, options) =>
      look(context, options, () => {
        const row = findImage(world, gallery, name);
        return row && toGalleryImage(row);
      }),
    listImages: (query, options) =>
      look(context, options, () => {
        requireGallery(world, gallery);
        const rows = world.all<ImageRow>(
          'SELECT * FROM image WHERE gallery = ? AND name > ? ORDER BY name LIMIT ?',
          gallery,
          query.cursor ?? '',
          rowsFor(query),
        );
        return pageOf(query, rows, (row) => row.name, toGalleryImage);
      }),
    deleteImage: (name, options) =>
      change(context, `the end of image ${name}`, options, () => deleteImage(context, gallery, name)),
    ...localGalleryVersions(context, gallery),
    async limits(options) {
      await look(context, options, () => undefined);
      return readLimits(context);
    },
  };
}

function createImage({ world }: LocalContext, gallery: string, image: GalleryImage): void {
  checkName('image', image.name);
  requireGallery(world, gallery);
  if (adoptImage(world, gallery, image)) return;
  const { name, os, architecture, generation, osState = 'generalized', description = null } = image;
  world.insert('image', { gallery, name, os, architecture, generation, osState, description });
}

function deleteImage({ world }: LocalContext, gallery: string, name: string): void {
  const inside = world.get<{ all: number; going: number }>(
    'SELECT count(*) AS "all", sum(deleting) AS going FROM version WHERE gallery = ? AND image = ?',
    gallery,
    name,
  );
  if (inside !== undefined && inside.all > 0) {
    const refuse = inside.all === inside.going ? busy : conflict;
    throw refuse(`Image ${name} still has ${inside.all} versions, ${inside.going} of them being deleted.`);
  }
  world.run('DELETE FROM image WHERE gallery = ? AND name = ?', gallery, name);
}

/** Only the disk limits a local gallery. */
async function readLimits({ store }: LocalContext): Promise<readonly GalleryLimit[]> {
  const blobs = await store.context.blobs.list();
  const used = blobs.reduce((sum, blob) => sum + blob.size, 0);
  const { bavail, bsize } = await statfs(store.root);
  return [{ name: 'bytes', used, limit: used + bavail * bsize }];
}
