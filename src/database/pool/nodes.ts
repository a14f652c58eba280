// Node records in bulk. A machine has one row for each disk that it had, of which the newest is live until the
// machine is gone. Reports may come late, twice or after a machine was taken for gone: the rows end up the same.
import { type RawBuilder, sql, type Transaction } from 'kysely';
import type { Fleet } from '../../ports/database/fleet.ts';
import type { Change, Database } from '../connection/database.ts';
import { lockName } from '../connection/locks.ts';
import type { Tables } from '../connection/tables.ts';

type NewNode = Parameters<Fleet['recordNodes']>[0][number];

const batchSize = 1_000;

export function recordNodes(database: Database, nodes: readonly NewNode[]): Promise<void> {
  return database.write(async (change) => {
    const pools = Map.groupBy(nodes, ({ pool }) => pool);
    for (const pool of [...pools.keys()].sort()) await recordPool(change, pool, pools.get(pool) ?? []);
  });
}

async function recordPool({ tables, emit }: Change, pool: string, nodes: readonly NewNode[]): Promise<void> {
  await lockName('nodes', pool).execute(tables);
  let recorded = 0;
  for (let start = 0; start < nodes.length; start += batchSize) {
    recorded += await recordBatch(tables, nodes.slice(start, start + batchSize));
  }
  if (recorded > 0) emit({ type: 'pool.nodes', subject: `pool/${pool}`, data: { recorded } });
}

/** Ends what the new rows replace, adds them, and calls back those that were taken for gone. */
async function recordBatch(tables: Transaction<Tables>, batch: readonly NewNode[]): Promise<number> {
  const nodes = await notLiveYet(tables, batch);
  if (nodes.length === 0) return 0;
  const given = givenRows(nodes);
  await sql`
    update imago.nodes older set ended_at = given.at
    from ${given}
    where older.ended_at is null and older.machine_id = given.machine_id and older.at < given.at`.execute(
    tables,
  );
  await sql`
    update imago.nodes other set ended_at = given.at
    from ${given}
    where other.ended_at is null and other.pool = given.pool and other.name = given.name
      and other.machine_id <> given.machine_id and other.at <= given.at`.execute(tables);
  const added = await sql`
    insert into imago.nodes
      (name, pool, machine_id, at, image, version, digest, reference, channel, move, ended_at)
    select given.*, least(
      lead(at) over (partition by machine_id order by at),
      lead(at) over (partition by pool, name order by at, machine_id),
      (select min(later.at) from imago.nodes later
        where later.machine_id = given.machine_id and later.at > given.at),
      (select min(other.at) from imago.nodes other
        where other.pool = given.pool and other.name = given.name and other.ended_at is null
          and other.at > given.at))
    from ${given}
    on conflict (machine_id, at) do nothing`.execute(tables);
  const back = await sql`
    update imago.nodes newest set ended_at = null
    from ${given}
    where newest.machine_id = given.machine_id and newest.at = given.at and newest.ended_at is not null
      and not exists (
        select from imago.nodes later where later.machine_id = newest.machine_id and later.at > newest.at)
      and not exists (
        select from imago.nodes other
        where other.pool = newest.pool and other.name = newest.name and other.ended_at is null)`.execute(
    tables,
  );
  return Number((added.numAffectedRows ?? 0n) + (back.numAffectedRows ?? 0n));
}

/** Most reports say what is known; those cost one read. */
async function notLiveYet(
  tables: Transaction<Tables>,
  batch: readonly NewNode[],
): Promise<readonly NewNode[]> {
  const nodes = [...new Map(batch.map((node) => [`${node.machineId} ${node.at}`, node])).values()];
  const known = await sql<{ index: number }>`
    select given.index::integer as index
    from unnest(
      ${nodes.map(({ machineId }) => machineId)}::text[], ${nodes.map(({ at }) => at)}::timestamptz(3)[]
    ) with ordinality as given (machine_id, at, index)
    join imago.nodes on nodes.machine_id = given.machine_id and nodes.at = given.at
    where nodes.ended_at is null`.execute(tables);
  const live = new Set(known.rows.map(({ index }) => index - 1));
  return nodes.filter((_, index) => !live.has(index));
}

function givenRows(nodes: readonly NewNode[]): RawBuilder<unknown> {
  return sql`unnest(
    ${nodes.map(({ name }) => name)}::text[], ${nodes.map(({ pool }) => pool)}::text[],
    ${nodes.map(({ machineId }) => machineId)}::text[], ${nodes.map(({ at }) => at)}::timestamptz(3)[],
    ${nodes.map(({ image }) => image)}::text[], ${nodes.map(({ version }) => version)}::text[],
    ${nodes.map(({ digest }) => digest)}::text[], ${nodes.map(({ reference }) => reference)}::text[],
    ${nodes.map(({ channel }) => channel ?? null)}::text[], ${nodes.map(({ move }) => move ?? null)}::bigint[]
  ) as given (name, pool, machine_id, at, image, version, digest, reference, channel, move)`;
}

/** Marks every live record of the pool whose machine is not in `alive` as gone. */
export async function endNodes(
  { tables, emit }: Change,
  pool: string,
  alive: ReadonlySet<string>,
  at: string,
): Promise<void> {
  await lockName('nodes', pool).execute(tables);
  const gone = await sql`
    update imago.nodes set ended_at = greatest(${at}::timestamptz, at)
    where pool = ${pool} and ended_at is null
      and not exists (select from unnest(${[...alive]}::text[]) as a (machine_id)
        where a.machine_id = nodes.machine_id)`.execute(tables);
  const count = Number(gone.numAffectedRows ?? 0n);
  if (count > 0) emit({ type: 'pool.nodes', subject: `pool/${pool}`, data: { gone: count } });
}
