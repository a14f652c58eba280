// Channels and the log of their moves.
import { type Selectable, sql } from 'kysely';
import {
  type ChannelMove,
  type ChannelRecord,
  checkMove,
  latestChannel,
} from '../../domain/channel/channel.ts';
import type { PolicyResult } from '../../domain/channel/decision.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { newestTest } from '../../domain/evidence/evidence.ts';
import type { Json } from '../../domain/value/json.ts';
import type { MoveRequest } from '../../ports/database/catalog.ts';
import type { Page, PageQuery } from '../../ports/page.ts';
import type { Change, Database } from '../connection/database.ts';
import { toJsonOrNull } from '../connection/json.ts';
import { lockName } from '../connection/locks.ts';
import { readCursor, rowsToRead, toPage } from '../connection/page.ts';
import type { ChannelsTable, VersionsTable } from '../connection/tables.ts';
import type { CatalogueContext } from './context.ts';
import { listEvidence, newestTestFailed } from './evidence.ts';
import { lockImage, requireChannel, requireVersion } from './lookup.ts';
import { toChannel, toMove, toVersion } from './rows.ts';

export async function listChannels(database: Database, image: string): Promise<readonly ChannelRecord[]> {
  const rows = await database.read((tables) =>
    tables
      .selectFrom('channels')
      .selectAll()
      .where('image', '=', image)
      .orderBy('position')
      .orderBy('name')
      .execute(),
  );
  return rows.map(toChannel);
}

export async function getChannel(
  database: Database,
  image: string,
  channel: string,
): Promise<ChannelRecord | undefined> {
  const row = await database.read((tables) =>
    tables
      .selectFrom('channels')
      .selectAll()
      .where('image', '=', image)
      .where('name', '=', channel)
      .executeTakeFirst(),
  );
  return row === undefined ? undefined : toChannel(row);
}

export function moveChannel(context: CatalogueContext, request: MoveRequest): Promise<ChannelMove> {
  return context.database.write(async (change) => {
    const { tables } = change;
    await lockImage(tables, request.image);
    const channel = await requireChannel(tables, request.image, request.channel);
    const version = await requireVersion(tables, request.image, request.to);
    const { expect, back = false } = request;
    const check = { back, ...(expect === undefined ? {} : { expect }) };
    if (checkMove(toChannel(channel), toVersion(version), check)) {
      if (back && !channel.for_testing) await requireNotFailed(change, version);
      if (request.policy !== undefined) await requireUnchanged(change, version.digest, request.policy);
      return recordMove(context, change, channel, version, request);
    }
    const last = await tables
      .selectFrom('channel_moves')
      .selectAll()
      .where('image', '=', request.image)
      .where('channel', '=', request.channel)
      .orderBy('id', 'desc')
      .limit(1)
      .executeTakeFirstOrThrow();
    return toMove(last);
  });
}

/** Going back asks no gate, but never leads to what failed its newest test (rule 4). */
async function requireNotFailed(
  { tables }: Change,
  { image, version, digest }: Selectable<VersionsTable>,
): Promise<void> {
  await lockName('evidence', digest).execute(tables);
  if (newestTest(digest, await listEvidence(tables, digest))?.passed !== false) return;
  throw new ImagoError('channel-untested', `The newest test of ${image}:${version} failed.`, {
    hint: `Run \`imago test ${image}:${version}\` again, or name another version.`,
  });
}

/** Nothing that the gates were decided on may have changed: what is added from now on comes after the move. */
async function requireUnchanged({ tables }: Change, digest: string, decided: PolicyResult): Promise<void> {
  await lockName('evidence', digest).execute(tables);
  await lockName('policy', '').execute(tables);
  const evidence = await tables
    .selectFrom('evidence')
    .select('id')
    .where('digest', '=', digest)
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  const policy = await tables
    .selectFrom('policies')
    .select('id')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  if ((evidence?.id ?? 0) === decided.evidenceSeen && policy?.id === decided.policy?.id) return;
  throw new ImagoError('gate-outdated', `There is newer evidence of ${digest}, or a newer policy.`);
}

/**
 * Points `latest` at the available version that was made last and whose newest test did not fail, or at nothing. The
 * image must be locked.
 */
export async function moveLatest(
  context: CatalogueContext,
  change: Change,
  image: string,
  author: Author,
): Promise<void> {
  const { tables } = change;
  const latest = await requireChannel(tables, image, latestChannel);
  const newest = await tables
    .selectFrom('versions')
    .selectAll()
    .where('image', '=', image)
    .where('state', '=', 'available')
    .where(sql<boolean>`not ${newestTestFailed('versions.digest')}`)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  if (latest.version !== (newest?.version ?? null)) await recordMove(context, change, latest, newest, author);
}

type Author = Pick<MoveRequest, 'by' | 'why' | 'operation' | 'policy'>;

/** The image must be locked, and the move allowed. */
export async function recordMove(
  { stamp }: CatalogueContext,
  { tables, emit }: Change,
  channel: Selectable<ChannelsTable>,
  to: Selectable<VersionsTable> | undefined,
  author: Author,
): Promise<ChannelMove> {
  const target = { version: to?.version ?? null, digest: to?.digest ?? null };
  const row = await tables
    .insertInto('channel_moves')
    .values({
      image: channel.image,
      channel: channel.name,
      from_version: channel.version,
      to_version: target.version,
      to_digest: target.digest,
      moved_by: author.by,
      why: author.why,
      operation: author.operation ?? null,
      policy: toJsonOrNull(author.policy as Json | undefined),
      at: stamp(channel.moved_at),
    })
    .returningAll()
    .executeTakeFirstOrThrow();
  await tables
    .updateTable('channels')
    .set({ ...target, move: row.id, moved_at: row.at })
    .where('image', '=', channel.image)
    .where('name', '=', channel.name)
    .execute();
  const move = toMove(row);
  const { policy, ...facts } = move;
  const overridden = policy?.gates.filter((gate) => gate.overridden).map(({ gate }) => gate);
  emit({ type: 'channel.moved', subject: `image/${move.image}`, data: { ...facts, overridden } });
  return move;
}

export async function getMove(database: Database, id: number): Promise<ChannelMove | undefined> {
  const row = await database.read((tables) =>
    tables.selectFrom('channel_moves').selectAll().where('id', '=', id).executeTakeFirst(),
  );
  return row && toMove(row);
}

export async function listMoves(
  database: Database,
  image: string,
  channel: string | undefined,
  query: PageQuery,
): Promise<Page<ChannelMove>> {
  const before = readCursor<[number]>('moves', query, ['number']);
  const rows = await database.read((tables) => {
    let found = tables.selectFrom('channel_moves').selectAll().where('image', '=', image);
    if (channel !== undefined) found = found.where('channel', '=', channel);
    if (before !== undefined) found = found.where('id', '<', before[0]);
    return found.orderBy('id', 'desc').limit(rowsToRead(query)).execute();
  });
  return toPage('moves', query, rows, ({ id }) => [id], toMove);
}
