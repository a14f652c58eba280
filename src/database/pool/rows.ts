// Pools and nodes between their rows and their records.
import type { Insertable, Selectable } from 'kysely';
import type { NodeRecord } from '../../domain/node/node.ts';
import type { PoolImage, PoolRecord } from '../../domain/pool/pool.ts';
import { optional } from '../connection/json.ts';
import type { NodesTable, PoolsTable } from '../connection/tables.ts';

export function toPool(row: Selectable<PoolsTable>): PoolRecord {
  return {
    name: row.name,
    provider: row.provider,
    orchestration: row.orchestration,
    ...optional('region', row.region),
    size: row.size,
    reference: row.reference,
    ...optional('follows', row.follows),
    image: row.image,
    version: row.version,
    digest: row.digest,
    ...optional('move', row.move),
    nodeConfig: row.node_config,
    createdAt: row.created_at,
  };
}

export function toPoolRow(pool: Omit<PoolRecord, 'createdAt'>): Omit<Insertable<PoolsTable>, 'created_at'> {
  return {
    name: pool.name,
    provider: pool.provider,
    orchestration: pool.orchestration,
    region: pool.region ?? null,
    size: pool.size,
    ...modelColumns(pool),
    node_config: pool.nodeConfig,
  };
}

export function modelColumns({ reference, follows, image, version, digest, move }: PoolImage) {
  return { reference, follows: follows ?? null, image, version, digest, move: move ?? null };
}

export function toNode(row: Selectable<NodesTable>): NodeRecord {
  return {
    name: row.name,
    pool: row.pool,
    machineId: row.machine_id,
    image: row.image,
    version: row.version,
    digest: row.digest,
    reference: row.reference,
    ...optional('channel', row.channel),
    ...optional('move', row.move),
    at: row.at,
    schedulable: row.schedulable,
    ...optional('goneAt', row.ended_at),
  };
}
