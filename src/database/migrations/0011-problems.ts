// Problems that a person must see.
import type { Migration } from './migration.ts';

export const problems: Migration = {
  number: 11,
  name: 'problems',
  sql: `
create table imago.problems (
  id bigint generated always as identity primary key,
  source text not null,
  kind text not null,
  subject text not null,
  message text not null,
  hint text,
  count integer not null,
  first_at timestamptz(3) not null,
  last_at timestamptz(3) not null,
  resolved_at timestamptz(3),
  resolved_by text,
  reason text
);
create unique index problems_open on imago.problems (source, kind, subject) where resolved_at is null;
create index problems_by_subject on imago.problems (subject, id);
select imago.fence_table('imago.problems');
create index operations_with_exceptions on imago.operations (seq) where exceptions::text <> '[]';
`,
};
