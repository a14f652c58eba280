// What the catalog's writes begin with: locking the image, and finding what they name or reporting what is near.
import type { Kysely, Transaction } from 'kysely';
import type { ChannelRecord } from '../../domain/channel/record.ts';
import type { ImageRecord, VersionRecord } from '../../domain/image/record.ts';
import { parentOf } from '../../domain/lineage/lineage.ts';
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

/** Of several with the digest that was named, one of the same image, and the oldest. */
export async function readParent(
  tables: Kysely<Tables>,
  child: Pick<VersionRecord, 'image' | 'version' | 'origin'>,
): Promise<VersionRecord | undefined> {
  const parent = parentOf(child.origin);
  if (parent === undefined) return undefined;
  if (parent.kind === 'version') {
    return versions.find(tables, { image: parent.image, version: parent.version });
  }
  const row = await tables
    .selectFrom('versions')
    .selectAll()
    .where('digest', '=', parent.digest)
    .$if(parent.image !== undefined, (rows) => rows.where('image', '=', parent.image ?? ''))
    .where((row) => row.not(row.and([row('image', '=', child.image), row('version', '=', child.version)])))
    .orderBy((row) => row('image', '=', child.image), 'desc')
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst();
  return row && versions.of(row);
}
