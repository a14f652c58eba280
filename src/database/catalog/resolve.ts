// From a reference to one exact version, with as few rows as the reference needs. Only when nothing answers are
// all the image's names read, for the hint.
import { type Kysely, type Selectable, sql } from 'kysely';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { parseReference, type Reference } from '../../domain/image/reference.ts';
import {
  channelEmptyAt,
  channelNotFound,
  type ImageContents,
  imageNotFound,
  madeLater,
  type Resolution,
  resolveReference,
} from '../../domain/resolve/resolve.ts';
import type { Database } from '../connection/database.ts';
import { planOnce } from '../connection/pool.ts';
import type { ChannelsTable, Tables, VersionsTable } from '../connection/tables.ts';
import { imageNames } from './lookup.ts';
import { channels, moves, versions } from './records.ts';

export async function resolve(database: Database, text: string): Promise<Resolution> {
  const reference = parseReference(text);
  return database.read(async (tables) => {
    const narrow = await narrowContents(tables, reference);
    try {
      return resolveReference(reference, narrow);
    } catch (error) {
      if (!(error instanceof ImagoError) || error.kind !== 'not-found') throw error;
      return resolveReference(reference, await explainContents(tables, reference));
    }
  });
}

export async function resolveAt(database: Database, text: string, time: Date): Promise<Resolution> {
  const reference = parseReference(text);
  if (reference.kind === 'image') {
    throw new ImagoError('input-invalid', `What \`${text}\` named at a time is not kept.`, {
      hint: `Name a channel: \`${text}:latest\`.`,
    });
  }
  if (reference.kind === 'channel') return channelAt(database, text, reference, time);
  const found = await resolve(database, text);
  const version = await database.read((tables) =>
    versions.find(tables, { image: found.image, version: found.version }),
  );
  if (version !== undefined && Date.parse(version.createdAt) > time.getTime()) {
    throw madeLater(found, version.createdAt);
  }
  return found;
}

/** From the log alone: the channel may be gone, and so may the version. */
async function channelAt(
  database: Database,
  text: string,
  { image, channel }: Extract<Reference, { kind: 'channel' }>,
  time: Date,
): Promise<Resolution> {
  return database.read(async (tables) => {
    const log = tables
      .selectFrom('channel_moves')
      .selectAll()
      .where('image', '=', image)
      .where('channel', '=', channel);
    const move = await log
      .where('at', '<=', time.toISOString())
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirst();
    if (move?.to_version && move.to_digest) {
      const { id, to_version: number, to_digest: digest } = move;
      const version = await versions.find(tables, { image, version: number });
      const { state = 'deleted', simulated } = version ?? {};
      const mark = simulated === undefined ? {} : { simulated };
      return { reference: text, image, version: number, digest, state, ...mark, channel, move: id };
    }
    const first = await log.orderBy('id').limit(1).executeTakeFirst();
    if (first !== undefined) throw channelEmptyAt(image, channel, time, first.at);
    const all = await allContents(tables, image);
    const names = all.channels.map(({ name }) => name);
    if (names.includes(channel)) throw channelEmptyAt(image, channel, time);
    throw channelNotFound(image, channel, names);
  });
}

/** What can answer the reference: a channel and its version, or the versions that fit. */
async function narrowContents(tables: Kysely<Tables>, reference: Reference): Promise<ImageContents> {
  const known = versionsOf(tables, reference.image);
  switch (reference.kind) {
    case 'image': {
      const usable = known.where('state', 'not in', ['withdrawn', 'deleted']);
      return { versions: await usable.orderBy('created_at', 'desc').limit(1).execute(), channels: [] };
    }
    case 'version':
      return { versions: await known.where('version', '=', reference.version).execute(), channels: [] };
    case 'digest':
      return { versions: await known.where('digest', '=', reference.digest).execute(), channels: [] };
    case 'channel':
      return channelContents(tables, reference.image, reference.channel);
  }
}

type ChannelRow = Selectable<ChannelsTable> & {
  readonly versionDigest: string | null;
  readonly state: VersionsTable['state'] | null;
  readonly createdAt: string | null;
};

/** In one read, so that the channel and its version are of one moment. */
async function channelContents(
  tables: Kysely<Tables>,
  image: string,
  channel: string,
): Promise<ImageContents> {
  const found = await sql<ChannelRow>`${planOnce}
    select c.*, v.digest as "versionDigest", v.state, v.created_at as "createdAt"
    from imago.channels c left join imago.versions v on v.image = c.image and v.version = c.version
    where c.image = ${image} and c.name = ${channel}`.execute(tables);
  const row = found.rows[0];
  if (row === undefined) return { versions: [], channels: [] };
  const { version, versionDigest: digest, state, createdAt } = row;
  const nowhere = version === null || digest === null || state === null || createdAt === null;
  return {
    versions: nowhere ? [] : [{ version, digest, state, createdAt, simulated: row.simulated }],
    channels: [channels.of(row)],
  };
}

/** Reads everything that an error can mention: all names, and the move that emptied the channel. */
async function explainContents(tables: Kysely<Tables>, reference: Reference): Promise<ImageContents> {
  const all = await allContents(tables, reference.image);
  if (reference.kind !== 'channel') return all;
  const channel = all.channels.find(({ name }) => name === reference.channel);
  if (channel?.version !== undefined || channel?.move === undefined) return all;
  return { ...all, emptied: await moves.find(tables, { id: channel.move }) };
}

async function allContents(tables: Kysely<Tables>, image: string): Promise<ImageContents> {
  const known = await channels.all(tables, { image });
  if (known.length === 0) throw imageNotFound(image, await imageNames(tables));
  return { versions: await versionsOf(tables, image).execute(), channels: known };
}

function versionsOf(tables: Kysely<Tables>, image: string) {
  return tables
    .selectFrom('versions')
    .select(['version', 'digest', 'state', 'created_at as createdAt', 'simulated'])
    .where('image', '=', image);
}
