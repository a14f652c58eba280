// What the catalogue's writes begin with: locking the image, and finding what they name or saying what is near.
import type { Kysely, Selectable, Transaction } from 'kysely';
import { channelNotFound, imageNotFound, versionNotFound } from '../../domain/resolve/resolve.ts';
import type { ChannelsTable, ImagesTable, Tables, VersionsTable } from '../connection/tables.ts';

/** Waits for other writes to the image, which are then all visible. Throws `image-not-found`. */
export async function lockImage(
  tables: Transaction<Tables>,
  image: string,
): Promise<Selectable<ImagesTable>> {
  const found = await tables
    .selectFrom('images')
    .selectAll()
    .where('name', '=', image)
    .forNoKeyUpdate()
    .executeTakeFirst();
  if (found === undefined) throw imageNotFound(image, await imageNames(tables));
  return found;
}

export async function imageNames(tables: Kysely<Tables>): Promise<readonly string[]> {
  const rows = await tables.selectFrom('images').select('name').execute();
  return rows.map(({ name }) => name);
}

export function findVersion(
  tables: Kysely<Tables>,
  image: string,
  version: string,
): Promise<Selectable<VersionsTable> | undefined> {
  return tables
    .selectFrom('versions')
    .selectAll()
    .where('image', '=', image)
    .where('version', '=', version)
    .executeTakeFirst();
}

export async function requireVersion(
  tables: Kysely<Tables>,
  image: string,
  version: string,
): Promise<Selectable<VersionsTable>> {
  const found = await findVersion(tables, image, version);
  if (found !== undefined) return found;
  throw versionNotFound({ kind: 'version', image, version }, await knownVersions(tables, image));
}

function knownVersions(
  tables: Kysely<Tables>,
  image: string,
): Promise<Pick<Selectable<VersionsTable>, 'version' | 'state'>[]> {
  return tables.selectFrom('versions').select(['version', 'state']).where('image', '=', image).execute();
}

export async function requireChannel(
  tables: Kysely<Tables>,
  image: string,
  channel: string,
): Promise<Selectable<ChannelsTable>> {
  const found = await tables
    .selectFrom('channels')
    .selectAll()
    .where('image', '=', image)
    .where('name', '=', channel)
    .executeTakeFirst();
  if (found !== undefined) return found;
  const known = await tables.selectFrom('channels').select('name').where('image', '=', image).execute();
  throw channelNotFound(
    image,
    channel,
    known.map(({ name }) => name),
  );
}
