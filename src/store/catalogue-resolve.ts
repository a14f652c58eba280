// From a reference to one exact version, with as few rows as the reference needs. Only when nothing answers are
// all the image's names read, for the hint.
import type { Kysely } from 'kysely';
import { ImagoError } from '../domain/errors.ts';
import { parseReference, type Reference } from '../domain/reference.ts';
import { type ImageContents, imageNotFound, type Resolution, resolveReference } from '../domain/resolve.ts';
import { imageNames } from './catalogue-lookup.ts';
import { toChannel, toVersion } from './catalogue-rows.ts';
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
  const versions = tables
    .selectFrom('versions')
    .selectAll('versions')
    .where('versions.image', '=', reference.image);
  switch (reference.kind) {
    case 'image': {
      const newest = versions
        .where('state', 'not in', ['withdrawn', 'deleted'])
        .orderBy('created_at', 'desc');
      return contents(await newest.limit(1).execute());
    }
    case 'version':
      return contents(await versions.where('version', '=', reference.version).execute());
    case 'digest':
      return contents(await versions.where('digest', '=', reference.digest).execute());
    case 'channel': {
      const channels = await tables
        .selectFrom('channels')
        .selectAll()
        .where('image', '=', reference.image)
        .where('name', '=', reference.channel)
        .execute();
      const pointed = channels[0]?.version ?? undefined;
      const rows = pointed === undefined ? [] : await versions.where('version', '=', pointed).execute();
      return { ...contents(rows), channels: channels.map(toChannel) };
    }
  }
}

function contents(rows: Parameters<typeof toVersion>[0][]): ImageContents {
  return { versions: rows.map(toVersion), channels: [] };
}

async function allContents(tables: Kysely<Tables>, image: string): Promise<ImageContents> {
  const versions = await tables.selectFrom('versions').selectAll().where('image', '=', image).execute();
  const channels = await tables.selectFrom('channels').selectAll().where('image', '=', image).execute();
  if (channels.length === 0) throw imageNotFound(image, await imageNames(tables));
  return { versions: versions.map(toVersion), channels: channels.map(toChannel) };
}
