// One simulated gallery: its images, its versions and how near its limits are.
import { checkName } from '../../../domain/value/name.ts';
import type { Gallery, GalleryImage, GalleryLimit } from '../../../ports/provider/gallery.ts';
import {
  adoptImage,
  countRows,
  findImage,
  type ImageRow,
  requireGallery,
  toGalleryImage,
} from '../../common/gallery-rows.ts';
import { pageOf, rowsFor } from '../../common/paging.ts';
import { busy, checkLimit, conflict } from '../../common/refusals.ts';
import { finds, lists, reads, writes } from '../world/call.ts';
import type { SimContext } from '../world/context.ts';
import { simGalleryVersions } from './versions.ts';

export function simGallery(context: SimContext, gallery: string): Gallery {
  const { call, world } = context;
  return {
    createImage: (image, options) =>
      call(writes('gallery.createImage', image.name), options, () => createImage(context, gallery, image)),
    getImage: (name, options) =>
      call(finds<GalleryImage>('gallery.getImage', name), options, () => {
        const row = findImage(world, gallery, name);
        return row && toGalleryImage(row);
      }),
    listImages: (query, options) =>
      call(lists<GalleryImage>('gallery.listImages', gallery), options, () => {
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
      call(writes('gallery.deleteImage', name), options, ({ failure }) => {
        if (failure === undefined) deleteImage(context, gallery, name);
      }),
    ...simGalleryVersions(context, gallery),
    limits: (options) =>
      call(
        reads<readonly GalleryLimit[]>('gallery.limits', gallery, () => []),
        options,
        () => readLimits(context),
      ),
  };
}

function createImage({ world, limits }: SimContext, gallery: string, image: GalleryImage): void {
  checkName('image', image.name);
  requireGallery(world, gallery);
  if (adoptImage(world, gallery, image)) return;
  const { name, os, architecture, generation, osState = 'generalized', description = null } = image;
  checkLimit('images', countRows(world, 'image') + 1, limits.images);
  world.insert('image', { gallery, name, os, architecture, generation, osState, description });
}

function deleteImage({ world }: SimContext, gallery: string, name: string): void {
  const inside = world.get<{ all: number; going: number }>(
    `SELECT count(*) AS "all", count(goneAt) AS going FROM version
     WHERE gallery = ? AND image = ? AND (goneAt IS NULL OR goneAt > ?)`,
    gallery,
    name,
    world.time(),
  );
  if (inside !== undefined && inside.all > 0) {
    const refuse = inside.all === inside.going ? busy : conflict;
    throw refuse(`Image ${name} still has ${inside.all} versions, ${inside.going} of them being deleted.`);
  }
  world.run('DELETE FROM image WHERE gallery = ? AND name = ?', gallery, name);
}

function readLimits({ world, limits }: SimContext): readonly GalleryLimit[] {
  const live = 'goneAt IS NULL OR goneAt > ?';
  const versions = world.get<{ count: number }>(
    `SELECT count(*) AS count FROM version WHERE ${live}`,
    world.time(),
  );
  const replicas = world.get<{ most: number | null }>(
    `SELECT max(replicas) AS most FROM (
       SELECT sum(replicas) AS replicas FROM regionCopy NATURAL JOIN
         (SELECT gallery, image, version FROM version WHERE ${live})
       GROUP BY gallery, image, version)`,
    world.time(),
  );
  return [
    { name: 'galleries', used: countRows(world, 'gallery'), limit: limits.galleries },
    { name: 'images', used: countRows(world, 'image'), limit: limits.images },
    { name: 'versions', used: versions?.count ?? 0, limit: limits.versions },
    { name: 'replicas-per-version', used: replicas?.most ?? 0, limit: limits.replicasPerVersion },
  ];
}
