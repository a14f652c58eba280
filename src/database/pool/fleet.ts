// Pools and nodes on PostgreSQL.
import { ImagoError } from '../../domain/error/imago-error.ts';
import { requireUsable } from '../../domain/image/version-state.ts';
import { didYouMean } from '../../domain/value/suggest.ts';
import { toIso } from '../../domain/value/time.ts';
import type { Fleet, PoolRecord } from '../../ports/database/fleet.ts';
import { findVersion } from '../catalog/lookup.ts';
import type { Change, Database } from '../connection/database.ts';
import { readCursor, rowsToRead, toPage } from '../connection/page.ts';
import { endNodes, recordNodes } from './nodes.ts';
import { modelColumns, toNode, toPool, toPoolRow } from './rows.ts';

export interface FleetOptions {
  readonly now?: () => number;
}

export function createFleet(database: Database, { now = Date.now }: FleetOptions = {}): Fleet {
  return {
    addPool: (pool) =>
      database.write(async ({ tables, emit }) => {
        const columns = toPoolRow(pool);
        await lockImageIfKnown(tables, pool.image);
        const added = await tables
          .insertInto('pools')
          .values({ ...columns, created_at: toIso(new Date(now())) })
          .onConflict((conflict) => conflict.column('name').doNothing())
          .returningAll()
          .executeTakeFirst();
        if (added !== undefined) {
          await refuseOut(tables, pool);
          emit({ type: 'pool.added', subject: `pool/${pool.name}`, data: { ...modelColumns(pool) } });
          return toPool(added);
        }
        const known = await tables
          .selectFrom('pools')
          .selectAll()
          .where('name', '=', pool.name)
          .executeTakeFirstOrThrow();
        for (const [column, wanted] of Object.entries(columns)) {
          if (known[column as keyof typeof columns] === wanted) continue;
          throw new ImagoError('pool-exists', `Pool ${pool.name} exists already, with another ${column}.`);
        }
        return toPool(known);
      }),

    async getPool(name) {
      const row = await database.read((tables) =>
        tables.selectFrom('pools').selectAll().where('name', '=', name).executeTakeFirst(),
      );
      return row === undefined ? undefined : toPool(row);
    },

    async listPools(query) {
      const after = readCursor<[string]>('pools', query, ['string']);
      const rows = await database.read((tables) =>
        tables
          .selectFrom('pools')
          .selectAll()
          .where('name', '>', after?.[0] ?? '')
          .orderBy('name')
          .limit(rowsToRead(query))
          .execute(),
      );
      return toPage('pools', query, rows, ({ name }) => [name], toPool);
    },

    async listBehind(query) {
      const after = readCursor<[string]>('pools', query, ['string']);
      const rows = await database.read((tables) =>
        tables
          .selectFrom('pools')
          .innerJoin('channels', (join) =>
            join.onRef('channels.image', '=', 'pools.image').onRef('channels.name', '=', 'pools.follows'),
          )
          .selectAll('pools')
          .where('channels.move', 'is not', null)
          .whereRef('channels.move', 'is distinct from', 'pools.move')
          .where('pools.name', '>', after?.[0] ?? '')
          .orderBy('pools.name')
          .limit(rowsToRead(query))
          .execute(),
      );
      return toPage('pools', query, rows, ({ name }) => [name], toPool);
    },

    async listFollowers(image, channel) {
      const rows = await database.read((tables) =>
        tables
          .selectFrom('pools')
          .selectAll()
          .where('image', '=', image)
          .where('follows', '=', channel)
          .orderBy('name')
          .execute(),
      );
      return rows.map(toPool);
    },

    setPoolModel: (name, model, { back = false } = {}) =>
      database.write(async ({ tables, emit }) => {
        await lockImageIfKnown(tables, model.image);
        const before = await tables
          .selectFrom('pools')
          .select(['image', 'version'])
          .where('name', '=', name)
          .executeTakeFirst();
        const same = before?.image === model.image && before.version === model.version;
        if (before !== undefined && !same && !back) await refuseOut(tables, model);
        const row = await tables
          .updateTable('pools')
          .set(modelColumns(model))
          .where('name', '=', name)
          .returningAll()
          .executeTakeFirst();
        if (row === undefined) throw await poolNotFound(tables, name);
        emit({ type: 'pool.model', subject: `pool/${name}`, data: { ...modelColumns(model) } });
        return toPool(row);
      }),

    setPoolConfig: (name, nodeConfig) =>
      database.write(async ({ tables, emit }) => {
        const row = await tables
          .updateTable('pools')
          .set({ node_config: nodeConfig })
          .where('name', '=', name)
          .returningAll()
          .executeTakeFirst();
        if (row === undefined) throw await poolNotFound(tables, name);
        emit({ type: 'pool.config', subject: `pool/${name}`, data: {} });
        return toPool(row);
      }),

    removePool: (name) =>
      database.write(async (change) => {
        await endNodes(change, name, new Set(), toIso(new Date(now())));
        const gone = await change.tables.deleteFrom('pools').where('name', '=', name).executeTakeFirst();
        if (gone.numDeletedRows > 0n)
          change.emit({ type: 'pool.removed', subject: `pool/${name}`, data: {} });
      }),

    recordNodes: (nodes) => recordNodes(database, nodes),
    markGone: (pool, alive, at) => database.write((change) => endNodes(change, pool, alive, at)),

    async getNode(name) {
      const row = await database.read((tables) =>
        tables
          .selectFrom('nodes')
          .selectAll()
          .where('name', '=', name)
          .orderBy((node) => node('ended_at', 'is', null), 'desc')
          .orderBy('at', 'desc')
          .orderBy('id', 'desc')
          .limit(1)
          .executeTakeFirst(),
      );
      return row === undefined ? undefined : toNode(row);
    },

    async listNodes(pool, query) {
      const after = readCursor<[string, string]>('nodes', query, ['string', 'string']);
      const rows = await database.read((tables) => {
        let found = tables.selectFrom('nodes').selectAll().where('ended_at', 'is', null);
        if (pool !== undefined) found = found.where('pool', '=', pool).where('name', '>', after?.[0] ?? '');
        else if (after !== undefined) {
          found = found.where(({ eb, refTuple, tuple }) =>
            eb(refTuple('name', 'pool'), '>', tuple(after[0], after[1])),
          );
        }
        return found.orderBy('name').orderBy('pool').limit(rowsToRead(query)).execute();
      });
      return toPage('nodes', query, rows, (row) => [row.name, row.pool], toNode);
    },
  };
}

/** Waits for withdrawals of the image, which are then visible; one that comes after sees the pool. */
async function lockImageIfKnown(tables: Change['tables'], image: string): Promise<void> {
  await tables.selectFrom('images').select('name').where('name', '=', image).forNoKeyUpdate().execute();
}

async function refuseOut(
  tables: Change['tables'],
  { image, version }: Pick<PoolRecord, 'image' | 'version'>,
): Promise<void> {
  const known = await findVersion(tables, image, version);
  if (known !== undefined) requireUsable(known);
}

async function poolNotFound(tables: Change['tables'], name: string): Promise<ImagoError> {
  const known = await tables.selectFrom('pools').select('name').execute();
  return new ImagoError('pool-not-found', `There is no pool ${name}.`, {
    hint:
      didYouMean(
        name,
        known.map((row) => row.name),
      ) ?? 'See `imago pool list`.',
  });
}
