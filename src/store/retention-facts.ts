// Reads what the rules of retention look at, of some images, with one query for each kind of use.
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { RetainedVersion, RetentionFacts, VersionUse } from '../domain/retention.ts';
import { isUsable } from '../domain/version-state.ts';
import { toChannel } from './catalogue-rows.ts';
import type { Tables } from './tables.ts';

export async function readRetentionFacts(
  tables: Kysely<Tables>,
  images: readonly string[],
): Promise<RetentionFacts> {
  const versions = await sql<RetainedVersion>`
    select image, version, state, digest, disk_digest as "diskDigest", size_bytes as "sizeBytes",
      created_at as "createdAt"
    from imago.versions where state <> 'deleted' and ${of('image', images)}`.execute(tables);
  const channels = await tables
    .selectFrom('channels')
    .selectAll()
    .where(sql<boolean>`${of('image', images)}`)
    .execute();
  const moves = await sql<RetentionFacts['moves'][number]>`
    select id, image, channel, to_version as "to" from imago.channel_moves
    where to_version is not null and ${of('image', images)}`.execute(tables);
  return {
    versions: versions.rows,
    channels: channels.map(toChannel),
    moves: moves.rows,
    uses: await readUses(tables, images),
  };
}

function of(column: string, images: readonly string[]): RawBuilder<unknown> {
  return sql`${sql.ref(column)} = any(${images}::text[])`;
}

async function readUses(tables: Kysely<Tables>, images: readonly string[]): Promise<readonly VersionUse[]> {
  const found = await sql<VersionUse>`
    select image, version, 'pool' as kind, min(name) as name, count(*) as count
      from imago.pools where ${of('image', images)} group by image, version
    union all
    select image, version, 'node', min(name), count(*)
      from imago.nodes where ended_at is null and ${of('image', images)} group by image, version
    union all
    select image, version, 'hold', reason, 1 from imago.holds where ${of('image', images)}
    union all
    select parent.image, parent.version, 'descendant', min(child.image || ':' || child.version), count(*)
      from imago.versions child join imago.versions parent
        on child.origin ->> 'parent' in
          (parent.digest, parent.image || ':' || parent.version, parent.image || '@' || parent.digest)
      where child.origin ->> 'parent' is not null and child.state <> 'deleted' and ${of('parent.image', images)}
        and (child.image, child.version) <> (parent.image, parent.version)
      group by parent.image, parent.version
    union all
    select s.image, s.version, 'operation', min(s.id), 1 from (
        select o.id, st.result ->> 'image' as image, st.result ->> 'version' as version
        from imago.operations o join imago.steps st on st.operation = o.id
        where o.state not in ('succeeded', 'failed', 'cancelled') and o.kind <> 'prune'
          and json_typeof(st.result) = 'object'
      ) s
      where s.image is not null and s.version is not null and ${of('s.image', images)}
      group by s.image, s.version`.execute(tables);
  return [...found.rows, ...(await readPoolRollbacks(tables, images))];
}

interface FormerModel {
  readonly pool: string;
  readonly image: string;
  readonly version: string;
  readonly state: RetainedVersion['state'];
}

/** What each pool had before what it has now: the newest that could still be used. */
async function readPoolRollbacks(
  tables: Kysely<Tables>,
  images: readonly string[],
): Promise<readonly VersionUse[]> {
  const found = await sql<FormerModel>`
    select m.pool, m.image, m.version, v.state
    from imago.pools p join imago.pool_models m on m.pool = p.name and m.pool_created_at = p.created_at
    join imago.versions v on v.image = m.image and v.version = m.version
    where (m.image, m.version) <> (p.image, p.version) and ${of('m.image', images)}
    order by m.pool, m.id desc`.execute(tables);
  const targets = new Map<string, FormerModel>();
  for (const model of found.rows) {
    if (!targets.has(model.pool) && isUsable(model.state)) targets.set(model.pool, model);
  }
  return [...targets.values()].map(({ pool, image, version }) => ({
    image,
    version,
    kind: 'pool-rollback',
    name: pool,
  }));
}
