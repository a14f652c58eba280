// Galleries that people told Imago of, on PostgreSQL.
import type { Selectable } from 'kysely';
import { ImagoError } from '../domain/error/imago-error.ts';
import type { AzureCoordinates } from '../domain/gallery/gallery.ts';
import { toIso } from '../domain/value/time.ts';
import type { GalleryBook, GalleryRecord } from '../ports/database/galleries.ts';
import type { Database } from './connection/database.ts';
import { fromJson, optional, optionalJson, toJson } from './connection/json.ts';
import type { GalleriesTable } from './connection/tables.ts';

export function createGalleryBook(database: Database, { now }: { readonly now: () => number }): GalleryBook {
  return {
    async list() {
      const rows = await database.read((tables) =>
        tables.selectFrom('galleries').selectAll().orderBy('name').execute(),
      );
      return rows.map(toGallery);
    },

    async get(name) {
      const row = await database.read((tables) =>
        tables.selectFrom('galleries').selectAll().where('name', '=', name).executeTakeFirst(),
      );
      return row && toGallery(row);
    },

    set: (gallery) =>
      database.write(async ({ tables, emit }) => {
        const { name, provider, by } = gallery;
        const place = gallery.place ?? null;
        const home = gallery.home ?? null;
        const known = await tables
          .selectFrom('galleries')
          .selectAll()
          .where('name', '=', name)
          .forUpdate()
          .executeTakeFirst();
        const stays = known?.provider === provider && known.place === place && known.home === home;
        if (known !== undefined && !stays) {
          throw new ImagoError('gallery-exists', `Gallery ${name} is ${placeText(known)} already.`);
        }
        const columns = {
          channels: toJson(gallery.channels),
          regions: toJson(gallery.regions.map(({ region, replicas }) => ({ region, replicas }))),
          public: gallery.public,
          azure: gallery.azure === undefined ? null : toJson({ ...gallery.azure }),
          added_by: by,
          at: toIso(new Date(now())),
        };
        const row = await tables
          .insertInto('galleries')
          .values({ name, provider, place, home, ...columns })
          .onConflict((conflict) => conflict.column('name').doUpdateSet(columns))
          .returningAll()
          .executeTakeFirstOrThrow();
        emit({ type: 'gallery.set', subject: `gallery/${name}`, data: { provider, place, by } });
        return toGallery(row);
      }),

    remove: (name) =>
      database.write(async ({ tables, emit }) => {
        const gone = await tables.deleteFrom('galleries').where('name', '=', name).executeTakeFirst();
        if (gone.numDeletedRows === 0n) return false;
        emit({ type: 'gallery.removed', subject: `gallery/${name}`, data: {} });
        return true;
      }),
  };
}

function toGallery(row: Selectable<GalleriesTable>): GalleryRecord {
  return {
    name: row.name,
    provider: row.provider,
    ...optional('place', row.place),
    ...optional('home', row.home),
    channels: fromJson<readonly string[]>(row.channels),
    regions: fromJson<GalleryRecord['regions']>(row.regions),
    public: row.public,
    ...optionalJson<'azure', AzureCoordinates>('azure', row.azure),
    by: row.added_by,
    at: row.at,
  };
}

function placeText({ provider, place, home }: Selectable<GalleriesTable>): string {
  return `${[provider, place].filter((part) => part !== null).join('/')}${home === null ? '' : ` in ${home}`}`;
}
