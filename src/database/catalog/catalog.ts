// The catalogue on PostgreSQL. Every write first locks its image, so that what it decides on cannot change
// before it is written; the rules themselves are the domain's.
import { type Selectable, sql, type Transaction } from 'kysely';
import { usualChannels } from '../../domain/channel/channel.ts';
import { requireSameKind } from '../../domain/image/simulated.ts';
import type { ImageRecord } from '../../domain/image/version.ts';
import { stampAfter, toIso } from '../../domain/value/time.ts';
import type { Catalogue, LockedVersion } from '../../ports/database/catalog.ts';
import type { Database } from '../connection/database.ts';
import { readCursor, rowsToRead, toPage } from '../connection/page.ts';
import type { ImagesTable, Tables } from '../connection/tables.ts';
import { createChannel, deleteChannel } from './channel-set.ts';
import { getChannel, getMove, listChannels, listMoves, moveChannel } from './channels.ts';
import type { CatalogueContext } from './context.ts';
import { listEvidence, newestTestFailed } from './evidence.ts';
import { addEvidence } from './evidence-add.ts';
import { lockImage } from './lookup.ts';
import { resolve, resolveAt } from './resolve.ts';
import { toImage, toVersion } from './rows.ts';
import { addVersion, dropVersion, reserveNumber, setVersionState } from './versions.ts';

export interface CatalogueOptions {
  /** Milliseconds since 1970; it may stand still or run backwards. */
  readonly now?: () => number;
}

export function createCatalogue(database: Database, { now = Date.now }: CatalogueOptions = {}): Catalogue {
  const context: CatalogueContext = {
    database,
    stamp: (last) => stampAfter(new Date(now()), last ?? undefined),
  };
  return {
    ensureImage: (image) =>
      database.write(async ({ tables, emit }) => {
        const added = await tables
          .insertInto('images')
          .values({ ...image, created_at: toIso(new Date(now())) })
          // Without a target: two unique constraints cover the name, and either may find the conflict first.
          .onConflict((conflict) => conflict.doNothing())
          .returningAll()
          .executeTakeFirst();
        if (added === undefined) return toImage(await joinImage(tables, image));
        const channels = usualChannels.map(({ name, forTesting, managed }, index) => ({
          image: image.name,
          name,
          for_testing: forTesting,
          managed,
          position: index + 1,
          simulated: image.simulated ?? false,
        }));
        await tables.insertInto('channels').values(channels).execute();
        emit({ type: 'image.added', subject: `image/${image.name}`, data: {} });
        return toImage(added);
      }),

    async getImage(name) {
      const row = await database.read((tables) =>
        tables.selectFrom('images').selectAll().where('name', '=', name).executeTakeFirst(),
      );
      return row === undefined ? undefined : toImage(row);
    },

    async listImages(query) {
      const after = readCursor<[string]>('images', query, ['string']);
      const rows = await database.read((tables) =>
        tables
          .selectFrom('images')
          .selectAll()
          .where('name', '>', after?.[0] ?? '')
          .orderBy('name')
          .limit(rowsToRead(query))
          .execute(),
      );
      return toPage('images', query, rows, ({ name }) => [name], toImage);
    },

    setMatrix: (image, kubernetes) =>
      database.write(async ({ tables }) => {
        await tables
          .updateTable('images')
          .set({ matrix: [...kubernetes] })
          .where('name', '=', image)
          .execute();
      }),

    async usedNumbers(image) {
      const rows = await database.read((tables) =>
        tables.selectFrom('numbers').select('number').where('image', '=', image).execute(),
      );
      return rows.map(({ number }) => number);
    },

    reserveNumber: (...request) => reserveNumber(context, ...request),
    addVersion: (version) => addVersion(context, version),
    dropVersion: (image, version) => dropVersion(context, image, version),
    setVersionState: (...request) => setVersionState(context, ...request),

    async getVersion(image, version) {
      const row = await database.read((tables) =>
        tables
          .selectFrom('versions')
          .selectAll()
          .where('image', '=', image)
          .where('version', '=', version)
          .executeTakeFirst(),
      );
      return row === undefined ? undefined : toVersion(row);
    },

    async findVersionByDigest(image, digest) {
      const row = await database.read((tables) =>
        tables
          .selectFrom('versions')
          .selectAll()
          .where('image', '=', image)
          .where('digest', '=', digest)
          .orderBy((row) => row('state', '=', 'deleted'))
          .orderBy((row) => row('state', '=', 'withdrawn'))
          .orderBy('created_at', 'desc')
          .limit(1)
          .executeTakeFirst(),
      );
      return row === undefined ? undefined : toVersion(row);
    },

    async findVersionByLock(image, lockDigest) {
      const row = await database.read((tables) =>
        tables
          .selectFrom('versions')
          .selectAll()
          .where('image', '=', image)
          .where('lock_digest', '=', lockDigest)
          .where('state', '!=', 'deleted')
          .orderBy('created_at', 'desc')
          .limit(1)
          .executeTakeFirst(),
      );
      return row === undefined ? undefined : toVersion(row);
    },

    listByLocks: (lockDigests) =>
      database.read(async (tables) => {
        const found = await sql<LockedVersion>`
          select image, version, state, lock_digest as "lockDigest" from imago.versions
          where lock_digest = any(${lockDigests}::text[]) and state <> 'deleted'`.execute(tables);
        return found.rows;
      }),

    async listVersions(image, query) {
      const before = readCursor<[number, number, number]>('versions', query, ['number', 'number', 'number']);
      const rows = await database.read((tables) => {
        let found = tables.selectFrom('versions').selectAll().where('image', '=', image);
        if (before !== undefined) {
          found = found.where(({ eb, refTuple, tuple }) =>
            eb(refTuple('major', 'minor', 'patch'), '<', tuple(before[0], before[1], before[2])),
          );
        }
        return found
          .orderBy('major', 'desc')
          .orderBy('minor', 'desc')
          .orderBy('patch', 'desc')
          .limit(rowsToRead(query))
          .execute();
      });
      return toPage('versions', query, rows, ({ major, minor, patch }) => [major, minor, patch], toVersion);
    },

    async listForKubernetes(image, kubernetes) {
      const rows = await database.read((tables) =>
        tables
          .selectFrom('versions')
          .selectAll()
          .where('image', '=', image)
          .where((row) =>
            row.or([row('kubernetes', '=', kubernetes), row('kubernetes', 'like', `${kubernetes}.%`)]),
          )
          .where('state', '=', 'available')
          .where(sql<boolean>`not ${newestTestFailed('versions.digest')}`)
          .orderBy('created_at', 'desc')
          .execute(),
      );
      return rows.map(toVersion);
    },

    listChannels: (image) => listChannels(database, image),
    getChannel: (image, channel) => getChannel(database, image, channel),
    createChannel: (request) => createChannel(context, request),
    deleteChannel: (request) => deleteChannel(context, request),
    moveChannel: (request) => moveChannel(context, request),
    getMove: (id) => getMove(database, id),
    listMoves: (image, channel, query) => listMoves(database, image, channel, query),
    addEvidence: (evidence) => addEvidence(context, evidence),
    listEvidence: (digest) => database.read((tables) => listEvidence(tables, digest)),
    resolve: (reference) => resolve(database, reference),
    resolveAt: (reference, time) => resolveAt(database, reference, time),
  };
}

/** The image that exists. Without a version it takes the mark of the first one that is announced. */
async function joinImage(
  tables: Transaction<Tables>,
  { name, simulated }: Pick<ImageRecord, 'name' | 'simulated'>,
): Promise<Selectable<ImagesTable>> {
  const known = await lockImage(tables, name);
  if (toImage(known).simulated === simulated) return known;
  const version = await tables
    .selectFrom('versions')
    .select('version')
    .where('image', '=', name)
    .limit(1)
    .executeTakeFirst();
  if (version !== undefined) requireSameKind(toImage(known), simulated);
  return tables
    .updateTable('images')
    .set({ simulated: simulated ?? false })
    .where('name', '=', name)
    .returningAll()
    .executeTakeFirstOrThrow();
}
