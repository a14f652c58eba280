// The entire path from recipe to node and to the next version, read for a set of versions together.
import { type Kysely, sql } from 'kysely';
import { describeCommit } from '../../domain/image/recipe-commit.ts';
import type { Origin, VersionRecord } from '../../domain/image/version.ts';
import { LineageBuilder, type LineageGraph, namesOf } from '../../domain/lineage/lineage.ts';
import type { Tables } from '../connection/tables.ts';
import { nameLists } from './rows.ts';

interface MoveRow {
  readonly id: number;
  readonly image: string;
  readonly channel: string;
  readonly version: string;
}

interface PoolRow {
  readonly pool: string;
  readonly image: string;
  readonly version: string;
  readonly move: number | null;
  readonly nodes: number;
  readonly live: number;
}

interface BuildRow {
  readonly id: string;
  readonly kind: string;
  readonly recipe: string | null;
}

/** The graph of these versions with all that lies between them. */
export async function readGraph(
  tables: Kysely<Tables>,
  versions: readonly VersionRecord[],
): Promise<LineageGraph> {
  const builder = new LineageBuilder();
  const moves = await readMoves(tables, versions);
  const pools = await readPools(tables, versions);
  const operations = new Map((await readBuilds(tables, versions)).map((build) => [build.id, build]));
  const donors = await readDonors(tables, versions);
  for (const version of versions) {
    const id = builder.add({
      id: versionId(version),
      kind: 'version',
      label: `${version.image}:${version.version}`,
      state: version.state,
    });
    addOrigin({ builder, versions, donors }, version, id, operations.get(version.operation));
  }
  for (const { id, image, channel, version } of moves) {
    const move = builder.add({ id: `move/${id}`, kind: 'move', label: `${id} of ${image}:${channel}` });
    builder.join(versionId({ image, version }), move, 'promoted by');
  }
  for (const { pool, image, version, move, nodes, live } of pools) {
    const poolNode = builder.add({ id: `pool/${pool}`, kind: 'pool', label: pool });
    const from = move === null ? versionId({ image, version }) : `move/${move}`;
    builder.join(from, poolNode, 'answered');
    if (nodes === 0) continue;
    const group = builder.add({
      id: `nodes/${pool}/${image}:${version}`,
      kind: 'node',
      label: `${nodes} of pool ${pool} from ${image}:${version}`,
      state: `${live} live`,
    });
    builder.join(poolNode, group, 'made');
  }
  return builder.graph();
}

interface Making {
  readonly builder: LineageBuilder;
  readonly versions: readonly VersionRecord[];
  /** The pool of each donor, by its name and what it ran. */
  readonly donors: ReadonlyMap<string, string>;
}

/** What made the version: recipe or parent, lock and build; or the donor and its capture. */
function addOrigin(
  { builder, versions, donors }: Making,
  version: VersionRecord,
  id: string,
  operation: BuildRow | undefined,
): void {
  const { origin } = version;
  const named = 'parent' in origin ? origin.parent : undefined;
  const parent =
    named === undefined
      ? undefined
      : versions.find((known) => namesOf(known).includes(named) && versionId(known) !== id);
  const label = operation === undefined ? version.operation : `${operation.kind} ${version.operation}`;
  if (origin.kind === 'built') {
    const lock = builder.add({ id: `lock/${origin.lockDigest}`, kind: 'lock', label: origin.lockDigest });
    const build = builder.add({ id: `operation/${version.operation}`, kind: 'build', label });
    const recipe = recipeLabel(version.image, origin, operation);
    if (recipe !== undefined) {
      const added = builder.add({ id: `recipe/${recipe}`, kind: 'recipe', label: recipe });
      builder.join(added, lock, 'locked as');
    }
    builder.join(lock, build, 'built by');
    builder.join(build, id, 'sealed');
    if (parent !== undefined) builder.join(versionId(parent), lock, 'changed into');
  }
  if (origin.kind !== 'captured') return;
  const pool = parent === undefined ? undefined : donors.get(`${origin.node} ${versionId(parent)}`);
  const capture = builder.add({ id: `operation/${version.operation}`, kind: 'capture', label });
  const donor = builder.add({ id: `node/${origin.node}`, kind: 'node', label: origin.node });
  if (pool !== undefined) builder.join(`pool/${pool}`, donor, 'made');
  else if (parent !== undefined) builder.join(versionId(parent), donor, 'ran on');
  builder.join(donor, capture, 'captured by');
  builder.join(capture, id, 'sealed');
}

/** By its commit, which the version's own record keeps; the journal may have forgotten the build. */
function recipeLabel(
  image: string,
  { source }: Extract<Origin, { readonly kind: 'built' }>,
  operation: BuildRow | undefined,
): string | undefined {
  if (source !== undefined) return `${operation?.recipe ?? image} at ${describeCommit(source)}`;
  return operation?.recipe ?? undefined;
}

function versionId({ image, version }: { readonly image: string; readonly version: string }): string {
  return `version/${image}:${version}`;
}

async function readMoves(
  tables: Kysely<Tables>,
  versions: readonly VersionRecord[],
): Promise<readonly MoveRow[]> {
  const { images, numbers } = nameLists(versions);
  const found = await sql<MoveRow>`
    select m.id, m.image, m.channel, m.to_version as version
    from unnest(${images}::text[], ${numbers}::text[]) as given (image, version)
    join imago.channel_moves m on m.image = given.image and m.to_version = given.version
    order by m.id`.execute(tables);
  return found.rows;
}

/** Pools by what their models were, with how many nodes they made of it and how many of these live. */
async function readPools(
  tables: Kysely<Tables>,
  versions: readonly VersionRecord[],
): Promise<readonly PoolRow[]> {
  const { images, numbers } = nameLists(versions);
  const found = await sql<PoolRow>`
    with given as (select * from unnest(${images}::text[], ${numbers}::text[]) as given (image, version)),
    made as (
      select n.pool, n.image, n.version, n.move, count(*) as nodes,
        count(*) filter (where n.ended_at is null) as live
      from given join imago.nodes n using (image, version)
      group by n.pool, n.image, n.version, n.move),
    modeled as (
      select distinct m.pool, m.image, m.version, m.move
      from given join imago.pool_models m using (image, version))
    select pool, image, version, move, coalesce(nodes, 0) as nodes, coalesce(live, 0) as live
    from (
      select coalesce(made.pool, modeled.pool) as pool, coalesce(made.image, modeled.image) as image,
        coalesce(made.version, modeled.version) as version, coalesce(made.move, modeled.move) as move,
        made.nodes, made.live
      from made full join modeled on made.pool = modeled.pool and made.image = modeled.image
        and made.version = modeled.version and coalesce(made.move, 0) = coalesce(modeled.move, 0)
    ) as joined
    order by pool, image, version, move`.execute(tables);
  return found.rows;
}

async function readDonors(
  tables: Kysely<Tables>,
  versions: readonly VersionRecord[],
): Promise<ReadonlyMap<string, string>> {
  const names = versions.flatMap(({ origin }) => ('node' in origin ? [origin.node] : []));
  if (names.length === 0) return new Map();
  const { images, numbers } = nameLists(versions);
  const found = await sql<{ name: string; pool: string; image: string; version: string }>`
    select distinct n.name, n.pool, n.image, n.version from imago.nodes n
    where n.name = any(${names}::text[])
      and (n.image, n.version) in (select * from unnest(${images}::text[], ${numbers}::text[]))`.execute(
    tables,
  );
  return new Map(found.rows.map((row) => [`${row.name} ${versionId(row)}`, row.pool]));
}

/** Operations may have been forgotten by the journal; the version's record names them still. */
async function readBuilds(
  tables: Kysely<Tables>,
  versions: readonly VersionRecord[],
): Promise<readonly BuildRow[]> {
  const ids = [...new Set(versions.map(({ operation }) => operation))];
  const found = await sql<BuildRow>`
    select id, kind, input #>> '{recipe,name}' as recipe
    from imago.operations where id = any(${ids}::text[])`.execute(tables);
  return found.rows;
}
