// What the catalog's writes begin with: locking the image, and finding what they name or reporting what is near.
import type { Kysely, Transaction } from 'kysely';
import type { ChannelRecord } from '../../domain/channel/record.ts';
import type { ImageRecord, VersionRecord } from '../../domain/image/record.ts';
import { channelNotFound, imageNotFound, versionNotFound } from '../../domain/resolve/resolve.ts';
import type { Tables } from '../connection/tables.ts';
import { channels, images, versions } from './records.ts';

/** Waits for other writes to the image, which are then all visible. Throws `image-not-found`. */
export async function lockImage(tables: Transaction<Tables>, name: string): Promise<ImageRecord> {
  const found = await images.find(tables, { name }, 'lock');
  if (found === undefined) throw imageNotFound(name, await imageNames(tables));
  return found;
}

export async function imageNames(tables: Kysely<Tables>): Promise<readonly string[]> {
  const rows = await tables.selectFrom('images').select('name').execute();
  return rows.map(({ name }) => name);
}

export async function requireVersion(
  tables: Kysely<Tables>,
  image: string,
  version: string,
): Promise<VersionRecord> {
  const found = await versions.find(tables, { image, version });
  if (found !== undefined) return found;
  const known = await tables
    .selectFrom('versions')
    .select(['version', 'state'])
    .where('image', '=', image)
    .execute();
  throw versionNotFound({ kind: 'version', image, version }, known);
}

export async function requireChannel(
  tables: Kysely<Tables>,
  image: string,
  name: string,
): Promise<ChannelRecord> {
  const found = await channels.find(tables, { image, name });
  if (found !== undefined) return found;
  const known = await channels.all(tables, { image });
  throw channelNotFound(
    image,
    name,
    known.map((channel) => channel.name),
  );
}
