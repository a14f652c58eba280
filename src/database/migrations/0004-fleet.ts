// Pools, and what every node was ever made from.
import type { Migration } from './migration.ts';

export const fleet: Migration = {
  number: 4,
  name: 'fleet',
  sql: `
create table imago.pools (
  name text collate "C" primary key,
  provider text not null,
  orchestration text not null check (orchestration in ('uniform', 'flexible')),
  region text,
  size text not null,
  reference text not null,
  follows text,
  image text not null,
  version text not null,
  digest text not null,
  move bigint,
  node_config text not null,
  created_at timestamptz(3) not null
);
create index pools_by_follows on imago.pools (image, follows) where follows is not null;
create index pools_by_version on imago.pools (image, version);
select imago.fence_table('imago.pools');

-- One row for each disk that a machine had. The live one has no end; a machine has one live row at most, and
-- so has a name within its pool.
create table imago.nodes (
  id bigint generated always as identity primary key,
  name text collate "C" not null,
  pool text collate "C" not null,
  machine_id text not null,
  image text not null,
  version text not null,
  digest text not null,
  reference text not null,
  channel text,
  move bigint,
  at timestamptz(3) not null,
  schedulable boolean not null default true,
  ended_at timestamptz(3),
  unique (machine_id, at)
);
create unique index nodes_live_by_machine on imago.nodes (machine_id) where ended_at is null;
create unique index nodes_live_by_pool on imago.nodes (pool, name) where ended_at is null;
create index nodes_live_by_name on imago.nodes (name, pool) where ended_at is null;
create index nodes_by_name on imago.nodes (name, at desc, id desc);
create index nodes_by_version on imago.nodes (image, version);
select imago.fence_table('imago.nodes');
`,
};
