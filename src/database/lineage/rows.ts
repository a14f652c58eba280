// The two walks along origins that lineage, withdrawal and retention share: up to the first version, and down to
// everything made from one.
import { type Kysely, type RawBuilder, type Selectable, sql } from 'kysely';
import type { VersionRecord } from '../../domain/image/record.ts';

import type { Descendant, VersionName } from '../../ports/database/lineage.ts';
import { readParent } from '../catalog/lookup.ts';
import { versions } from '../catalog/records.ts';
import type { Tables, VersionsTable } from '../connection/tables.ts';

/**
 * `line`: the given versions and all that was made from them, as a query to put after `with recursive`. `roots`
 * selects image, version and digest. Two versions of one digest cannot lead it in circles. `knownSince`: what was built
 * after that time, knowing what had become of its parent, is left out, and what was made from it.
 */
export function lineFrom(
  roots: RawBuilder<unknown>,
  knownSince = sql`null::timestamptz`,
): RawBuilder<unknown> {
  return sql`line (image, version, digest) as (
    ${roots}
    union
    select child.image, child.version, child.digest
    from line join imago.versions child on child.origin ->> 'parent' in
      (line.digest, line.image || ':' || line.version, line.image || '@' || line.digest)
    where child.origin ->> 'parent' is not null
      and (${knownSince} is null or child.origin ->> 'kind' <> 'built' or child.created_at <= ${knownSince}))`;
}

export function lineOf({ image, version }: VersionName, knownSince?: string): RawBuilder<unknown> {
  return lineFrom(
    sql`select image, version, digest from imago.versions where image = ${image} and version = ${version}`,
    sql`${knownSince ?? null}::timestamptz`,
  );
}

/**
 * The whole rows `v` of `line`, looked up one by one: nothing tells the planner that a line is short, and left to
 * itself it reads all versions for it.
 */
const rowsOfLine = sql`line cross join lateral (
  select * from imago.versions where image = line.image and version = line.version offset 0) v`;

function inOrder({ image, version }: VersionName): RawBuilder<unknown> {
  return sql`(v.image = ${image} and v.version = ${version}) desc, v.created_at, v.image, v.version`;
}

/** The version itself first, then its descendants in the order of their making. Empty when it does not exist. */
export async function readLine(
  tables: Kysely<Tables>,
  name: VersionName,
  knownSince?: string,
): Promise<readonly VersionRecord[]> {
  const found = await sql<Selectable<VersionsTable>>`
    with recursive ${lineOf(name, knownSince)}
    select v.* from ${rowsOfLine} order by ${inOrder(name)}`.execute(tables);
  return found.rows.map(versions.of);
}

/** As `readLine`, with how many live nodes run each and which pools make new ones from it. */
export async function readUsedLine(
  tables: Kysely<Tables>,
  name: VersionName,
): Promise<readonly Descendant[]> {
  const found = await sql<Selectable<VersionsTable> & { nodes: number; pools: string[] | null }>`
    with recursive ${lineOf(name)}
    select v.*,
      (select count(*) from imago.nodes n
        where n.image = line.image and n.version = line.version and n.ended_at is null) as nodes,
      (select array_agg(p.name::text order by p.name) from imago.pools p
        where p.image = line.image and p.version = line.version) as pools
    from ${rowsOfLine} order by ${inOrder(name)}`.execute(tables);
  return found.rows.map(({ nodes, pools, ...row }) => ({ ...versions.of(row), nodes, pools: pools ?? [] }));
}

/** The version first, then its parent, and so on; stops where a parent is not known. */
export async function readAncestors(
  tables: Kysely<Tables>,
  { image, version }: VersionName,
): Promise<readonly VersionRecord[]> {
  const chain: VersionRecord[] = [];
  const seen = new Set<string>();
  for (let record = await versions.find(tables, { image, version }); record !== undefined; ) {
    const key = `${record.image}:${record.version}`;
    if (seen.has(key)) break;
    seen.add(key);
    chain.push(record);
    record = await readParent(tables, record);
  }
  return chain;
}

/** Names as two lists, for `unnest`. */
export function nameLists(names: readonly VersionName[]): {
  readonly images: readonly string[];
  readonly numbers: readonly string[];
} {
  return { images: names.map(({ image }) => image), numbers: names.map(({ version }) => version) };
}
