// From a reference to one exact version, with as few rows as the reference needs. Only when nothing answers are
// all the image's names read, for the hint.
import type { Kysely } from 'kysely';
import { ImagoError } from '../domain/errors.ts';
import { parseReference, type Reference } from '../domain/reference.ts';
import { type ImageContents, imageNotFound, type Resolution, resolveReference } from '../domain/resolve.ts';
import { imageNames } from './catalogue-lookup.ts';
import { toChannel } from './catalogue-rows.ts';
import type { Database } from './database.ts';
import type { Tables } from './tables.ts';

export async function resolve(database: Database, text: string): Promise<Resolution> {
  const reference = parseReference(text);
  return database.read(async (tables) => {
    const narrow = await narrowContents(tables, reference);
    try {
      return resolveReference(reference, narrow);
    } catch (error) {
      if (!(error instanceof ImagoError) || error.kind !== 'not-found') throw error;
      return resolveReference(reference, await allContents(tables, reference.image));
    }
  });
}

/** What can answer the reference: a channel and its version, or the versions that fit. */
async function narrowContents(tables: Kysely<Tables>, reference: Reference): Promise<ImageContents> {
  const versions = versionsOf(tables, reference.image);
  switch (reference.kind) {
    case 'image': {
      const usable = versions.where('state', 'not in', ['withdrawn', 'deleted']);
      return { versions: await usable.orderBy('created_at', 'desc').limit(1).execute(), channels: [] };
    }
    case 'version':
      return { versions: await versions.where('version', '=', reference.version).execute(), channels: [] };
    case 'digest':
      return { versions: await versions.where('digest', '=', reference.digest).execute(), channels: [] };
    case 'channel':
      return channelContents(tables, reference.image, reference.channel);
  }
}

/** In one read, so that the channel and its version are of one moment. */
async function channelContents(
  tables: Kysely<Tables>,
  image: string,
  channel: string,
): Promise<ImageContents> {
  const row = await tables
    .selectFrom('channels')
    .leftJoin('versions', (join) =>
      join.onRef('versions.image', '=', 'channels.image').onRef('versions.version', '=', 'channels.version'),
    )
    .selectAll('channels')
    .select(['versions.digest as versionDigest', 'versions.state', 'versions.created_at as createdAt'])
    .where('channels.image', '=', image)
    .where('channels.name', '=', channel)
    .executeTakeFirst();
  if (row === undefined) return { versions: [], channels: [] };
  const { version, versionDigest: digest, state, createdAt } = row;
  const nowhere = version === null || digest === null || state === null || createdAt === null;
  return { versions: nowhere ? [] : [{ version, digest, state, createdAt }], channels: [toChannel(row)] };
}

async function allContents(tables: Kysely<Tables>, image: string): Promise<ImageContents> {
  const channels = await tables.selectFrom('channels').selectAll().where('image', '=', image).execute();
  if (channels.length === 0) throw imageNotFound(image, await imageNames(tables));
  return { versions: await versionsOf(tables, image).execute(), channels: channels.map(toChannel) };
}

function versionsOf(tables: Kysely<Tables>, image: string) {
  return tables
    .selectFrom('versions')
    .select(['version', 'digest', 'state', 'created_at as createdAt'])
    .where('image', '=', image);
}
