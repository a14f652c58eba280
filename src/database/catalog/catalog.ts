// The catalog on PostgreSQL. Every write first locks its image, so that what it decides on cannot change
// before it is written; the rules themselves are the domain's.
import { sql, type Transaction } from 'kysely';
import { usualChannels } from '../../domain/channel/channel.ts';
import type { ImageRecord } from '../../domain/image/record.ts';
import { requireSameKind } from '../../domain/image/simulated.ts';
import { stampAfter, toIso } from '../../domain/value/time.ts';
import type { Catalogue, LockedVersion } from '../../ports/database/catalog.ts';
import type { Database } from '../connection/database.ts';
import type { Tables } from '../connection/tables.ts';
import { createChannel, deleteChannel } from './channel-set.ts';
import { moveChannel } from './channels.ts';
import type { CatalogueContext } from './context.ts';
import { listEvidence, newestTestFailed } from './evidence.ts';
import { addEvidence } from './evidence-add.ts';
import { lockImage } from './lookup.ts';
import { channels, images, moves, versions } from './records.ts';
import { resolve, resolveAt } from './resolve.ts';
import { addVersion, dropVersion, reserveNumber, setVersionState } from './versions.ts';

export interface CatalogueOptions {
  /** Milliseconds since 1970; it may stand still or run backwards. */
  readonly now?: () => number;
}

export function createCatalogue(database: Database, { now = Date.now }: CatalogueOptions = {}): Catalogue {
  const context: CatalogueContext = {
    database,
    stamp: (last) => stampAfter(new Date(now()), last),
  };
  return {
    ensureImage: ({ channels: wanted, ...image }) =>
      database.write(async ({ tables, emit }) => {
        const row = images.row({ ...image, createdAt: toIso(new Date(now())) });
        const added = await images.insertIfNew(tables, row);
        if (added === undefined) return joinImage(tables, image);
        for (const [index, channel] of (wanted === false ? [] : usualChannels).entries()) {
          const { simulated } = image;
          const usual = { image: image.name, ...channel, position: index + 1, public: false, simulated };
          await channels.insert(tables, channels.row(usual));
        }
        emit({ type: 'image.added', subject: `image/${image.name}`, data: {} });
        return added;
      }),

    getImage: (name) => database.read((tables) => images.find(tables, { name })),
    listImages: (query) => database.read((tables) => images.page(tables, query, { by: { name: 'string' } })),

    async setMatrix(name, kubernetes) {
      await database.write(({ tables }) => images.update(tables, { name }, { matrix: [...kubernetes] }));
    },

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

    getVersion: (image, version) => database.read((tables) => versions.find(tables, { image, version })),

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
      return row && versions.of(row);
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
      return row && versions.of(row);
    },

    listByLocks: (lockDigests) =>
      database.read(async (tables) => {
        const found = await sql<LockedVersion>`
          select image, version, state, lock_digest as "lockDigest" from imago.versions
          where lock_digest = any(${lockDigests}::text[]) and state <> 'deleted'`.execute(tables);
        return found.rows;
      }),

    listVersions: (image, query) =>
      database.read((tables) =>
        versions.page(tables, query, {
          where: { image },
          by: { major: 'number', minor: 'number', patch: 'number' },
          newestFirst: true,
        }),
      ),

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
      return rows.map(versions.of);
    },

    listChannels: (image) => database.read((tables) => channels.all(tables, { image }, 'position', 'name')),
    getChannel: (image, name) => database.read((tables) => channels.find(tables, { image, name })),
    createChannel: (request) => createChannel(context, request),
    deleteChannel: (request) => deleteChannel(context, request),
    moveChannel: (request) => moveChannel(context, request),
    getMove: (id) => database.read((tables) => moves.find(tables, { id })),
    listMoves: (image, channel, query) =>
      database.read((tables) =>
        moves.page(tables, query, {
          where: channel === undefined ? { image } : { image, channel },
          by: { id: 'number' },
          newestFirst: true,
        }),
      ),
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
): Promise<ImageRecord> {
  const known = await lockImage(tables, name);
  if (known.simulated === simulated) return known;
  if ((await versions.find(tables, { image: name })) !== undefined) requireSameKind(known, simulated);
  await images.update(tables, { name }, { simulated: simulated ?? false });
  return lockImage(tables, name);
}
