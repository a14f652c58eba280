// Reads what the rules of retention look at, with one query for each kind of fact. Uses are few and moves are short,
// however large the catalog is, so they are read together; versions are read for some images at a time.
import { type Kysely, type RawBuilder, sql } from 'kysely';
import {
  type ChannelTargets,
  planRetention,
  type RetainedVersion,
  type RetentionFacts,
  type VersionUse,
} from '../../domain/retention/retention.ts';
import type { VersionName } from '../../ports/database/lineage.ts';
import { newestTestFailed } from '../catalog/evidence.ts';
import { channels } from '../catalog/records.ts';
import type { Tables } from '../connection/tables.ts';

/** What is looked at: all versions, those of an image, or one. */
export type RetentionScope = Partial<VersionName>;

export type NeedFacts = Pick<RetentionFacts, 'uses' | 'moves'>;

/** What may need versions. Moves are those of the whole image. */
export async function readNeeds(tables: Kysely<Tables>, scope: RetentionScope): Promise<NeedFacts> {
  return { uses: await readUses(tables, scope), moves: await readTargets(tables, scope.image) };
}

export async function readRetentionFacts(
  tables: Kysely<Tables>,
  images: readonly string[],
  needs: NeedFacts,
): Promise<RetentionFacts> {
  const versions = await sql<RetainedVersion>`
    select image, version, state, digest, disk_digest as "diskDigest", size_bytes as "sizeBytes",
      created_at as "createdAt", restricted, kubernetes, ${newestTestFailed('versions.digest')} as "testFailed"
    from imago.versions where state <> 'deleted' and image = any(${images}::text[])
    order by image, created_at`.execute(tables);
  const matrices = await tables
    .selectFrom('images')
    .select(['name', 'matrix'])
    .where('name', '=', sql<string>`any(${images}::text[])`)
    .execute();
  return {
    versions: versions.rows,
    channels: await channels.all(tables, { image: images }),
    matrices: new Map(matrices.map((image) => [image.name, image.matrix])),
    ...needs,
  };
}

/** The versions of the image that something needs; being the newest does not count. */
export async function readKept(tables: Kysely<Tables>, image: string): Promise<ReadonlySet<string>> {
  const facts = await readRetentionFacts(tables, [image], await readNeeds(tables, { image }));
  const kept = planRetention(facts, {}, new Date(0)).filter(({ keepers }) =>
    keepers.some(({ kind }) => kind !== 'newest'),
  );
  return new Set(kept.map(({ version }) => version));
}

/** As one text a channel: numbers of versions hold no blanks, and a row for each of many moves costs more than the move. */
async function readTargets(
  tables: Kysely<Tables>,
  image: string | undefined,
): Promise<readonly ChannelTargets[]> {
  const found = await sql<{ image: string; channel: string; targets: string }>`
    select image, channel, string_agg(to_version, ' ' order by id) as targets from imago.channel_moves
    where to_version is not null and ${image === undefined ? sql`true` : sql`image = ${image}`}
    group by image, channel`.execute(tables);
  return found.rows.map(({ targets, ...channel }) => ({ ...channel, targets: targets.split(' ') }));
}

async function readUses(tables: Kysely<Tables>, scope: RetentionScope): Promise<readonly VersionUse[]> {
  const found = await sql<VersionUse>`
    select image, version, 'pool' as kind, min(name) as name, count(*) as count
      from imago.pools where ${within(scope)} group by image, version
    union all
    select image, version, 'node', min(name), count(*)
      from imago.nodes where ended_at is null and ${within(scope)} group by image, version
    union all
    select image, version, 'hold', reason, 1 from imago.holds where ${within(scope)}
    union all
    select image, version, 'descendant', min(child), count(*)
      from (${scope.version === undefined ? allChildren(scope) : childrenOf(scope)}) as made
      group by image, version
    union all
    select image, version, 'operation', min(id), 1 from (
        select o.id, st.result ->> 'image' as image, st.result ->> 'version' as version
        from imago.operations o join imago.steps st on st.operation = o.id
        where o.state not in ('succeeded', 'failed', 'cancelled') and o.kind <> 'prune'
          and json_typeof(st.result) = 'object'
      ) s
      where image is not null and version is not null and ${within(scope)}
      group by image, version
    union all
    select image, version, 'pool-rollback', pool, 1
      from (${formerModels(scope)}) as former where ${within(scope)}`.execute(tables);
  return found.rows;
}

function within({ image, version }: RetentionScope, table?: string): RawBuilder<unknown> {
  const column = (name: string) => sql.ref(table === undefined ? name : `${table}.${name}`);
  if (image === undefined) return sql`true`;
  if (version === undefined) return sql`${column('image')} = ${image}`;
  return sql`(${column('image')} = ${image} and ${column('version')} = ${version})`;
}

/** Read from the names that children give, so that there are as many lookups as children, and not three a version. */
function allChildren(scope: RetentionScope): RawBuilder<unknown> {
  return sql`
    with named as (
      select image || ':' || version as child, origin ->> 'parent' as parent from imago.versions
      where origin ->> 'parent' is not null and state <> 'deleted')
    select v.image, v.version, child from named join imago.versions v
      on v.image = split_part(parent, ':', 1) and v.version = split_part(parent, ':', 2)
      where parent = v.image || ':' || v.version and parent <> child and ${within(scope, 'v')}
    union all
    select v.image, v.version, child from named join imago.versions v
      on v.digest = case when parent like '%@%' then split_part(parent, '@', 2) else parent end
      where (parent like 'sha256:%' or parent like '%@%')
        and (parent = v.digest or parent = v.image || '@' || v.digest)
        and child <> v.image || ':' || v.version and ${within(scope, 'v')}`;
}

/** The same of one version, by the three names that it can be given. */
function childrenOf(scope: RetentionScope): RawBuilder<unknown> {
  return sql`
    select v.image, v.version, c.image || ':' || c.version as child
    from imago.versions v join imago.versions c
      on c.origin ->> 'parent' in (v.digest, v.image || ':' || v.version, v.image || '@' || v.digest)
    where c.origin ->> 'parent' is not null and c.state <> 'deleted' and ${within(scope, 'v')}
      and (c.image, c.version) <> (v.image, v.version)`;
}

/** What each pool had before what it has now: the newest that could still be used. */
function formerModels(scope: RetentionScope): RawBuilder<unknown> {
  return sql`
    select distinct on (m.pool) m.pool, m.image, m.version
    from imago.pools p join imago.pool_models m on m.pool = p.name and m.pool_created_at = p.created_at
    join imago.versions v on v.image = m.image and v.version = m.version
    where (m.image, m.version) <> (p.image, p.version) and v.state not in ('withdrawn', 'deleted')
      and m.pool in (select pool from imago.pool_models where ${within(scope)})
    order by m.pool, m.id desc`;
}
