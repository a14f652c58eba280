// Registered galleries, on PostgreSQL.
import { ImagoError } from '../domain/error/imago-error.ts';
import { type GalleryRecord, gallery as galleryRecord } from '../domain/gallery/record.ts';
import { toIso } from '../domain/value/time.ts';
import type { GalleryBook } from '../ports/database/galleries.ts';
import type { Database } from './connection/database.ts';
import { records } from './connection/records.ts';

const galleries = records('galleries', galleryRecord, { by: 'added_by' });

export function createGalleryBook(database: Database, { now }: { readonly now: () => number }): GalleryBook {
  return {
    list: () => database.read((tables) => galleries.all(tables, {}, 'name')),
    get: (name) => database.read((tables) => galleries.find(tables, { name })),

    set: (gallery) =>
      database.write(async ({ tables, emit }) => {
        const { name, provider, place, home, by } = gallery;
        const known = await galleries.find(tables, { name }, 'lock');
        const stays = known?.provider === provider && known.place === place && known.home === home;
        if (known !== undefined && !stays) {
          throw new ImagoError('gallery-exists', `Gallery ${name} is ${placeText(known)} already.`);
        }
        const row = galleries.row({ ...gallery, at: toIso(new Date(now())) });
        const set = await galleries.put(tables, row, 'name');
        emit({
          type: 'gallery.set',
          subject: `gallery/${name}`,
          data: { provider, place: place ?? null, by },
        });
        return set;
      }),

    remove: (name) =>
      database.write(async ({ tables, emit }) => {
        const existed = await galleries.delete(tables, { name });
        if (existed) emit({ type: 'gallery.removed', subject: `gallery/${name}`, data: {} });
        return existed;
      }),
  };
}

function placeText({ provider, place, home }: GalleryRecord): string {
  return `${[provider, place].filter((part) => part !== undefined).join('/')}${home === undefined ? '' : ` in ${home}`}`;
}
