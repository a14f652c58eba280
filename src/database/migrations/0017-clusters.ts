// Clusters, and the pools that belong to them. Simulated pools belong to the simulated cluster, which has no row.
import type { Migration } from './migration.ts';

export const clusters: Migration = {
  number: 17,
  name: 'clusters',
  sql: `
create table imago.clusters (
  name text primary key,
  kubeconfig text,
  context text,
  server text,
  uid text not null unique,
  simulated boolean not null default false,
  added_by text not null,
  at timestamptz(3) not null
);
select imago.fence_table('imago.clusters');
alter table imago.pools add column cluster text;
update imago.pools set cluster = 'sim' where provider = 'sim';
`,
};
