// Galleries and images as they are stored, and as the role shows them.

import { conflict, notFound } from '../../domain/error/refusals.ts';
import type { GalleryImage, GallerySpec } from '../../ports/provider/gallery.ts';
import { type Cloud, stillThere } from './cloud.ts';
import type { GalleryRow, ImageRow } from './rows.ts';
import type { World } from './state-file.ts';

export function findGallery(world: World, name: string): GalleryRow | undefined {
  return world.get<GalleryRow>('SELECT * FROM gallery WHERE name = ?', name);
}

export function requireGallery(world: World, name: string): GalleryRow {
  const found = findGallery(world, name);
  if (found === undefined) throw notFound(`There is no gallery ${name}.`);
  return found;
}

export function findImage(world: World, gallery: string, name: string): ImageRow | undefined {
  return world.get<ImageRow>('SELECT * FROM image WHERE gallery = ? AND name = ?', gallery, name);
}

export function requireImage(world: World, gallery: string, name: string): ImageRow {
  const found = findImage(world, gallery, name);
  if (found === undefined) throw notFound(`Gallery ${gallery} has no image ${name}.`);
  return found;
}

/** A generalized machine is made when its agent has made it a node; a specialized one when it runs. */
export function isGeneralized(
  { world, defaultGallery }: Cloud,
  from: { readonly gallery?: string; readonly image: string },
): boolean {
  return findImage(world, from.gallery ?? defaultGallery, from.image)?.osState !== 'specialized';
}

/** Returns whether the image exists already. Throws `provider-conflict` if a fixed property differs. */
export function adoptImage(world: World, gallery: string, image: GalleryImage): boolean {
  const found = findImage(world, gallery, image.name);
  if (found === undefined) return false;
  const { os, architecture, generation, osState = 'generalized' } = image;
  for (const [property, wanted] of Object.entries({ os, architecture, generation, osState })) {
    const now = found[property as 'os'];
    if (now === wanted) continue;
    throw conflict(`Image ${image.name} has ${property} ${now}, which is fixed and cannot become ${wanted}.`);
  }
  return true;
}

export function toGallerySpec(row: GalleryRow, showRegion: boolean): GallerySpec {
  return {
    name: row.name,
    ...(showRegion ? { region: row.region } : {}),
    ...(row.description === null ? {} : { description: row.description }),
  };
}

export function toGalleryImage(row: ImageRow): GalleryImage {
  return {
    name: row.name,
    os: row.os,
    architecture: row.architecture,
    generation: row.generation,
    osState: row.osState,
    ...(row.description === null ? {} : { description: row.description }),
  };
}

/** Counts the rows of a table; what is being deleted counts until it is gone. */
/** Returns how many versions the image has, or the image that has the most. */
export function versionsInImage(
  world: World,
  only?: { readonly gallery: string; readonly image: string } | undefined,
): number {
  const found = world.get<{ count: number }>(
    `SELECT count(*) AS count FROM version WHERE ${stillThere} ${only ? 'AND gallery = ? AND image = ?' : ''}
     GROUP BY gallery, image ORDER BY count DESC`,
    world.time(),
    ...(only ? [only.gallery, only.image] : []),
  );
  return found?.count ?? 0;
}

export function countRows(
  world: World,
  table: 'gallery' | 'image' | 'version' | 'pool' | 'machine WHERE pool IS NULL' | 'snapshot',
): number {
  return world.get<{ count: number }>(`SELECT count(*) AS count FROM ${table}`)?.count ?? 0;
}
