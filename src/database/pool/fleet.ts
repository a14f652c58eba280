// Pools and nodes on PostgreSQL.
import { sql } from 'kysely';
import { gather } from '../../async/gather.ts';
import { simCluster } from '../../domain/cluster/record.ts';
import { ImagoError } from '../../domain/error/imago-error.ts';
import { requireUsable } from '../../domain/image/version-state.ts';
import type { PoolImage, PoolRecord } from '../../domain/pool/record.ts';
import { rolloutRecord } from '../../domain/rollout/record.ts';
import { requireNamed } from '../../domain/value/require-named.ts';
import { toIso } from '../../domain/value/time.ts';
import type { Fleet } from '../../ports/database/fleet.ts';
import { nodes as nodeRecords, pools, versions } from '../catalog/records.ts';
import type { Change, Database } from '../connection/database.ts';
import { readCursor, rowsToRead, toPage } from '../connection/page.ts';
import { records } from '../connection/records.ts';
import { endNodes, recordNodes } from './nodes.ts';

/** The image of the channel that a pool follows: new nodes can have a prototype that overlays it. */
const followedImage = sql`coalesce(pools.base->>'image', pools.image)`;
const rollouts = records('rollouts', rolloutRecord, { from: 'from_image' });

export interface FleetOptions {
  readonly now?: () => number;
}

export function createFleet(database: Database, { now = Date.now }: FleetOptions = {}): Fleet {
  return {
    addPool: (pool) =>
      database.write(async ({ tables, emit }) => {
        const { name, image } = pool;
        await lockImageIfKnown(tables, image);
        await lockCluster(tables, pool.cluster);
        const row = pools.row({ ...pool, createdAt: toIso(new Date(now())) });
        const added = await pools.insertIfNew(tables, row);
        if (added !== undefined) {
          await refuseOut(tables, pool);
          emit({ type: 'pool.added', subject: `pool/${name}`, data: { ...modelColumns(pool) } });
          return added;
        }
        const known = await requirePool(tables, name, await pools.find(tables, { name }));
        for (const [column, kept] of Object.entries(pools.row(known))) {
          if (column === 'created_at' || row[column as keyof typeof row] === kept) continue;
          throw new ImagoError('pool-exists', `Pool ${name} exists already, with another ${column}.`);
        }
        return known;
      }),

    getPool: (name) => database.read((tables) => pools.find(tables, { name })),
    listPools: (query) => database.read((tables) => pools.page(tables, query, { by: { name: 'string' } })),

    async listBehind(query) {
      const after = readCursor<[string]>('pools', query, ['string']);
      const rows = await database.read((tables) =>
        tables
          .selectFrom('pools')
          .innerJoin('channels', (join) =>
            join
              .on('channels.image', '=', sql<string>`${followedImage}`)
              .onRef('channels.name', '=', 'pools.follows'),
          )
          .selectAll('pools')
          .where('channels.move', 'is not', null)
          .whereRef('channels.move', 'is distinct from', 'pools.move')
          .where('pools.name', '>', after?.[0] ?? '')
          .orderBy('pools.name')
          .limit(rowsToRead(query))
          .execute(),
      );
      return toPage('pools', query, rows, ({ name }) => [name], pools.of);
    },

    async putRollout(rollout) {
      await database.write(async ({ tables, emit }) => {
        await rollouts.put(tables, rollouts.row(rollout), 'operation');
        const { operation, state, image, version, reason } = rollout;
        const data = { operation, image, version, ...(reason !== undefined && { reason }) };
        emit({ type: `rollout.${state}`, subject: `pool/${rollout.pool}`, data });
      });
    },
    pauseRollout: (operation, paused) =>
      database.write(({ tables }) => rollouts.update(tables, { operation, state: 'running' }, { paused })),
    lastRollout: (pool) => database.read((tables) => rollouts.last(tables, { pool }, 'at')),
    async findBadVersion(pool, digest) {
      const last = await database.read((tables) =>
        rollouts.last(tables, { pool, digest, state: ['rolled-back', 'succeeded'] }, 'at'),
      );
      return last?.state === 'rolled-back' ? last : undefined;
    },

    listFollowers: (image, channel) =>
      database.read(async (tables) => {
        const followers = await pools.all(tables, { follows: channel }, 'name');
        return followers.filter((pool) => (pool.base ?? pool).image === image);
      }),

    setPoolModel: (name, model, { back = false } = {}) =>
      database.write(async ({ tables, emit }) => {
        await lockImageIfKnown(tables, model.image);
        const before = await pools.find(tables, { name });
        const same = before?.image === model.image && before.version === model.version;
        if (before !== undefined && !same && !back) await refuseOut(tables, model);
        const columns = modelColumns(model);
        const { base: _base, ...data } = columns;
        const pool = await requirePool(tables, name, await pools.update(tables, { name }, columns));
        emit({
          type: 'pool.model',
          subject: `pool/${name}`,
          data: { ...data, ...(model.base && { base: model.base }) },
        });
        return pool;
      }),

    setPoolConfig: (name, nodeConfig) =>
      database.write(async ({ tables, emit }) => {
        const changed = await pools.update(tables, { name }, { node_config: nodeConfig });
        const pool = await requirePool(tables, name, changed);
        emit({ type: 'pool.config', subject: `pool/${name}`, data: {} });
        return pool;
      }),

    setPoolCluster: (name, cluster) =>
      database.write(async ({ tables, emit }) => {
        await lockCluster(tables, cluster);
        const changed = await pools.update(tables, { name }, { cluster: cluster ?? null });
        const pool = await requirePool(tables, name, changed);
        emit({ type: 'pool.cluster', subject: `pool/${name}`, data: { cluster: cluster ?? null } });
        return pool;
      }),

    removePool: (name) =>
      database.write(async (change) => {
        await endNodes(change, name, new Set(), toIso(new Date(now())));
        if (!(await pools.delete(change.tables, { name }))) return;
        change.emit({ type: 'pool.removed', subject: `pool/${name}`, data: {} });
      }),

    recordNodes: gather((nodes) => recordNodes(database, nodes)),
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
      return row && nodeRecords.of(row);
    },

    listNodes: (pool, query) =>
      database.read((tables) =>
        nodeRecords.page(tables, query, {
          where: { ended_at: null, ...(pool === undefined ? {} : { pool }) },
          by: { name: 'string', pool: 'string' },
        }),
      ),
  };
}

/** Waits for withdrawals of the image, which are then visible; one that comes after sees the pool. */
async function lockImageIfKnown(tables: Change['tables'], image: string): Promise<void> {
  await tables.selectFrom('images').select('name').where('name', '=', image).forNoKeyUpdate().execute();
}

/** Waits for a removal of the cluster; one that comes after sees the pool. */
async function lockCluster(tables: Change['tables'], name: string | undefined): Promise<void> {
  if (name === undefined || name === simCluster.name) return;
  const locked = tables.selectFrom('clusters').select('name').where('name', '=', name).forNoKeyUpdate();
  await requireNamed('cluster', name, await locked.executeTakeFirst(), async () =>
    (await tables.selectFrom('clusters').select('name').execute()).map((cluster) => cluster.name),
  );
}

async function refuseOut(
  tables: Change['tables'],
  { image, version }: Pick<PoolRecord, 'image' | 'version'>,
): Promise<void> {
  const known = await versions.find(tables, { image, version });
  if (known !== undefined) requireUsable(known);
}

function requirePool(
  tables: Change['tables'],
  name: string,
  found: PoolRecord | undefined,
): Promise<PoolRecord> {
  return requireNamed('pool', name, found, async () =>
    (await pools.all(tables, {})).map((pool) => pool.name),
  );
}

function modelColumns({ reference, follows, image, version, digest, move, base }: PoolImage) {
  const { base: overlaid } = pools.row({ base });
  return { reference, follows: follows ?? null, image, version, digest, move: move ?? null, base: overlaid };
}
