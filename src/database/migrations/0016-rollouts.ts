// Rollouts of pools, with the versions that were rolled back in them.
import type { Migration } from './migration.ts';

export const rollouts: Migration = {
  number: 16,
  name: 'rollouts',
  sql: `
create table imago.rollouts (
  operation text primary key,
  pool text not null,
  image text not null,
  version text not null,
  digest text not null,
  from_image json not null,
  state text not null,
  reason text,
  paused boolean not null default false,
  at timestamptz(3) not null
);
create index rollouts_by_pool on imago.rollouts (pool, at);
select imago.fence_table('imago.rollouts');
`,
};
