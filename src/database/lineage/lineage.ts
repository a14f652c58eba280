// Lineage on PostgreSQL.
import { type Kysely, type Selectable, sql } from 'kysely';
import type { RecipeCommit } from '../../domain/image/recipe-commit.ts';
import type { VersionRecord } from '../../domain/image/version.ts';
import { type Behind, daysBetween, type ParentStatus } from '../../domain/lineage/lineage.ts';
import type { Ancestor, Lineage, PoolUse, VersionName, WhichAnswer } from '../../ports/database/lineage.ts';
import { channels, nodes } from '../catalog/records.ts';
import type { Database } from '../connection/database.ts';
import { optional, optionalJson } from '../connection/json.ts';
import { readCursor, rowsToRead, toPage } from '../connection/page.ts';
import { planOnce } from '../connection/pool.ts';
import type { NodesTable, Tables, VersionsTable } from '../connection/tables.ts';
import { readGraph } from './graph.ts';
import { lineOf, nameLists, readAncestors, readUsedLine } from './rows.ts';

export function createLineage(database: Database): Lineage {
  return {
    ancestry: (name) =>
      database.read(async (tables) => {
        const chain = await readAncestors(tables, name);
        if (chain.length === 0) return undefined;
        const items: Ancestor[] = [];
        for (const [index, version] of chain.entries()) {
          const parent = chain[index + 1];
          const status = parent === undefined ? undefined : await parentStatus(tables, version, parent);
          items.push({ ...version, ...(status === undefined ? {} : { parent: status }) });
        }
        return { items, graph: await readGraph(tables, chain.toReversed()) };
      }),

    descent: (name, graph) =>
      database.read(async (tables) => {
        const items = await readUsedLine(tables, name);
        if (items.length === 0) return undefined;
        return { items, ...(graph ? { graph: await readGraph(tables, items) } : {}) };
      }),

    async nodes(name, descendants, query) {
      const after = readCursor<[string, string]>('version-nodes', query, ['string', 'string']);
      const { image, version } = name;
      const found = await database.read((tables) =>
        sql<Selectable<NodesTable>>`
          with recursive ${lineOf(name)}
          select n.* from line join imago.nodes n using (image, version)
          where n.ended_at is null
            and (${descendants} or (n.image = ${image} and n.version = ${version}))
            and (n.name, n.pool) > (${after?.[0] ?? ''}, ${after?.[1] ?? ''})
          order by n.name, n.pool limit ${rowsToRead(query)}`.execute(tables),
      );
      return toPage('version-nodes', query, found.rows, (row) => [row.name, row.pool], nodes.of);
    },

    poolsOf: (versions) => database.read((tables) => readPoolUses(tables, versions)),
    behind: (name) => database.read((tables) => readBehind(tables, name)),
    which: (node, at) => database.read((tables) => readWhich(tables, node, at)),
  };
}

/** By which channel the donor was made, and what that channel and the parent's image have now. */
async function parentStatus(
  tables: Kysely<Tables>,
  child: VersionRecord,
  parent: VersionRecord,
): Promise<ParentStatus> {
  const newest = await tables
    .selectFrom('versions')
    .select('version')
    .where('image', '=', parent.image)
    .where('state', 'not in', ['withdrawn', 'deleted'])
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst();
  const name = 'node' in child.origin ? await donorChannel(tables, child.origin.node, parent) : undefined;
  const channel = name === undefined ? undefined : await channels.find(tables, { image: parent.image, name });
  return {
    ...(name === undefined ? {} : { channel: { name, pointsAtParent: channel?.version === parent.version } }),
    newest: newest?.version === parent.version,
  };
}

async function donorChannel(
  tables: Kysely<Tables>,
  node: string,
  { image, version }: VersionRecord,
): Promise<string | undefined> {
  const donor = await tables
    .selectFrom('nodes')
    .select('channel')
    .where('name', '=', node)
    .where('image', '=', image)
    .where('version', '=', version)
    .orderBy('at', 'desc')
    .limit(1)
    .executeTakeFirst();
  return donor?.channel ?? undefined;
}

async function readPoolUses(
  tables: Kysely<Tables>,
  versions: readonly VersionName[],
): Promise<readonly PoolUse[]> {
  const { images, numbers } = nameLists(versions);
  const found = await sql<{ pool: string; model: boolean; follows: string | null; nodes: number }>`
    with given as (
      select distinct image, version from unnest(${images}::text[], ${numbers}::text[]) as given (image, version)),
    running as (
      select n.pool, count(*) as nodes from given join imago.nodes n using (image, version)
      where n.ended_at is null group by n.pool),
    modeled as (select p.name as pool from given join imago.pools p using (image, version))
    select coalesce(running.pool, modeled.pool) as pool, modeled.pool is not null as model, p.follows,
      coalesce(running.nodes, 0) as nodes
    from running full join modeled on running.pool = modeled.pool
    left join imago.pools p on p.name = coalesce(running.pool, modeled.pool)
    order by 1`.execute(tables);
  return found.rows.map(({ follows, ...use }) => ({ ...use, ...optional('follows', follows) }));
}

async function readBehind(
  tables: Kysely<Tables>,
  { image, version }: VersionName,
): Promise<Behind | undefined> {
  const found = await sql<{ newest: string | null; made: string; own: string; newer: number }>`
    select newest.version as newest, newest.created_at as made, mine.created_at as own,
      (select count(*) from imago.versions v
        where v.image = mine.image and v.state = 'available' and v.created_at > mine.created_at) as newer
    from imago.versions mine
    left join lateral (
      select version, created_at from imago.versions v
      where v.image = mine.image and v.state = 'available' order by created_at desc limit 1) newest on true
    where mine.image = ${image} and mine.version = ${version}`.execute(tables);
  const row = found.rows[0];
  if (row === undefined || row.newest === null) return undefined;
  return { days: daysBetween(row.own, row.made), versions: row.newer, newest: row.newest };
}

type WhichRow = Selectable<NodesTable> & {
  readonly version_state: VersionsTable['state'] | null;
  readonly source: string | null;
  readonly moved_by: string | null;
  readonly move_why: string | null;
  readonly moved_at: string | null;
};

/** One record for each disk that a machine of this name had: the one of the time, else the live or the last one. */
async function readWhich(
  tables: Kysely<Tables>,
  node: string,
  at: string | undefined,
): Promise<WhichAnswer | undefined> {
  const found = await sql<WhichRow>`${planOnce}
    select n.*, v.state as version_state, v.origin -> 'source' as source, m.moved_by, m.why as move_why, m.at as moved_at
    from imago.nodes n
    left join imago.versions v on v.image = n.image and v.version = n.version
    left join imago.channel_moves m on m.id = n.move
    where n.name = ${node}
      and (${at ?? null}::timestamptz is null
        or (n.at <= ${at ?? null}::timestamptz
          and (n.ended_at is null or n.ended_at > ${at ?? null}::timestamptz)))
    order by (n.ended_at is null) desc, n.at desc, n.id desc limit 1`.execute(tables);
  const row = found.rows[0];
  if (row === undefined) return undefined;
  const moved =
    row.moved_by === null || row.move_why === null || row.moved_at === null
      ? undefined
      : { by: row.moved_by, why: row.move_why, at: row.moved_at };
  return {
    ...nodes.of(row),
    ...optional('versionState', row.version_state),
    ...optionalJson<'source', RecipeCommit>('source', row.source),
    ...(moved === undefined ? {} : { moved }),
  };
}
