// Several galleries side by side.

import { checkLimit, conflict, invalid } from '../../domain/error/refusals.ts';
import type { Galleries, GallerySpec } from '../../ports/provider/gallery.ts';
import { change, look } from '../state/call.ts';
import { type Cloud, regionNamed } from '../state/cloud.ts';
import { countRows, findGallery, toGallerySpec } from '../state/gallery-rows.ts';
import { pageByName } from '../state/paging.ts';
import type { GalleryRow } from '../state/rows.ts';
import { cloudGallery } from './gallery.ts';

/** Azure's rule: no dash. */
const namePattern = /^[A-Za-z0-9](?:[A-Za-z0-9._]*[A-Za-z0-9])?$/;

export function cloudGalleries(cloud: Cloud): Galleries {
  const { world, abilities } = cloud;
  const shown = (row: GalleryRow) => toGallerySpec(row, abilities.regions.length > 0);
  return {
    own: cloud.defaultGallery,
    createGallery: (spec, options) =>
      change(cloud, `gallery ${spec.name}`, options, () => createGallery(cloud, spec)),
    getGallery: (name, options) =>
      look(cloud, options, () => {
        const row = findGallery(world, name);
        return row && shown(row);
      }),
    listGalleries: (query, options) =>
      look(cloud, options, () => pageByName(world, query, 'gallery WHERE true', [], shown)),
    deleteGallery: (name, options) =>
      change(cloud, `gallery ${name}`, options, ({ failure }) => {
        if (failure === undefined) deleteGallery(cloud, name);
      }),
    open: (name) => cloudGallery(cloud, name),
  };
}

function createGallery(cloud: Cloud, { name, region: wanted, description }: GallerySpec): void {
  const { world, limits } = cloud;
  if (!namePattern.test(name) || name.length > cloud.longestGalleryName) {
    throw invalid(
      `The gallery name ${JSON.stringify(name)} is not made of letters, digits, _ and ., at most ${cloud.longestGalleryName}.`,
    );
  }
  const region = regionNamed(cloud, wanted);
  const found = findGallery(world, name);
  if (found !== undefined) {
    if (found.region === region) return;
    throw conflict(`Gallery ${name} is in ${found.region}, and cannot move to ${region}.`);
  }
  checkLimit('galleries', countRows(world, 'gallery') + 1, limits.galleries);
  world.insert('gallery', { name, region, description: description ?? null });
}

function deleteGallery({ world, defaultGallery }: Cloud, name: string): void {
  if (name === defaultGallery) throw conflict(`Gallery ${name} is the provider's own and stays.`);
  const images = world.get<{ count: number }>(
    'SELECT count(*) AS count FROM image WHERE gallery = ?',
    name,
  )?.count;
  if (images) throw conflict(`Gallery ${name} still has ${images} images.`);
  world.run('DELETE FROM gallery WHERE name = ?', name);
}
