// One gallery: its images, its versions and how near its limits are.

import { busy, checkLimit, conflict } from '../../domain/error/refusals.ts';
import { checkName } from '../../domain/value/name.ts';
import type { Gallery, GalleryImage, GalleryLimit } from '../../ports/provider/gallery.ts';
import { change, look } from '../state/call.ts';
import { type Cloud, stillThere } from '../state/cloud.ts';
import {
  adoptImage,
  countRows,
  findImage,
  requireGallery,
  toGalleryImage,
  versionsInImage,
} from '../state/gallery-rows.ts';
import { pageByName } from '../state/paging.ts';
import { galleryVersions } from './versions.ts';

export function cloudGallery(cloud: Cloud, gallery: string): Gallery {
  const { world } = cloud;
  return {
    createImage: (image, options) =>
      change(cloud, `image ${image.name}`, options, () => createImage(cloud, gallery, image)),
    getImage: (name, options) =>
      look(cloud, options, () => {
        const row = findImage(world, gallery, name);
        return row && toGalleryImage(row);
      }),
    listImages: (query, options) =>
      look(cloud, options, () => {
        requireGallery(world, gallery);
        return pageByName(world, query, 'image WHERE gallery = ?', [gallery], toGalleryImage);
      }),
    deleteImage: (name, options) =>
      change(cloud, `image ${name}`, options, ({ failure }) => {
        if (failure === undefined) deleteImage(cloud, gallery, name);
      }),
    ...galleryVersions(cloud, gallery),
    limits: async (options) => [
      ...(await look(cloud, options, () => countedLimits(cloud, gallery, options.image))),
      ...(await cloud.executor.galleryLimits()),
    ],
  };
}

function createImage({ world, limits }: Cloud, gallery: string, image: GalleryImage): void {
  checkName('image', image.name);
  requireGallery(world, gallery);
  if (adoptImage(world, gallery, image)) return;
  const { name, os, architecture, generation, osState = 'generalized', description = null } = image;
  checkLimit('images', countRows(world, 'image') + 1, limits.images);
  world.insert('image', { gallery, name, os, architecture, generation, osState, description });
}

function deleteImage({ world }: Cloud, gallery: string, name: string): void {
  const inside = world.get<{ all: number; going: number }>(
    `SELECT count(*) AS "all", count(deletedAt) AS going FROM version
     WHERE gallery = ? AND image = ? AND ${stillThere}`,
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

function countedLimits({ world, limits }: Cloud, gallery: string, image?: string): readonly GalleryLimit[] {
  const versions = world.get<{ count: number }>(
    `SELECT count(*) AS count FROM version WHERE ${stillThere}`,
    world.time(),
  );
  const replicas = world.get<{ most: number | null }>(
    `SELECT max(replicas) AS most FROM (
       SELECT sum(replicas) AS replicas FROM regionCopy NATURAL JOIN
         (SELECT gallery, image, version FROM version WHERE ${stillThere})
       GROUP BY gallery, image, version)`,
    world.time(),
  );
  const counted = [
    { name: 'galleries', used: countRows(world, 'gallery'), limit: limits.galleries },
    { name: 'images', used: countRows(world, 'image'), limit: limits.images },
    { name: 'versions', used: versions?.count ?? 0, limit: limits.versions },
    {
      name: 'versions-per-image',
      used: versionsInImage(world, image === undefined ? undefined : { gallery, image }),
      limit: limits.versionsPerImage,
    },
    { name: 'replicas-per-version', used: replicas?.most ?? 0, limit: limits.replicasPerVersion },
  ] as const;
  return counted.flatMap(({ limit, ...used }) => (limit === undefined ? [] : [{ ...used, limit }]));
}
