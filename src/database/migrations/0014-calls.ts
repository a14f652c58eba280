// What the recorded calls of a run returned, by their order in the run. After a crash the engine answers them from here.
import type { Migration } from './migration.ts';

export const calls: Migration = {
  number: 14,
  name: 'calls',
  sql: `
create table imago.calls (
  run text not null,
  place integer not null,
  name text not null,
  value json not null,
  primary key (run, place)
);
select imago.fence_table('imago.calls');
`,
};
