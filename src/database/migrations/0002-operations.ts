// Operations, their steps and their logs.
import type { Migration } from './migration.ts';

export const operations: Migration = {
  number: 2,
  name: 'operations',
  sql: `
create table imago.operations (
  seq bigint generated always as identity unique,
  id text primary key,
  kind text not null,
  subject text not null,
  requested_by text not null,
  key text not null,
  input json not null,
  state text not null
    check (state in ('queued', 'running', 'waiting', 'undoing', 'succeeded', 'failed', 'cancelled')),
  current_step text,
  progress json,
  result json,
  error json,
  exceptions json not null default '[]',
  cancel_requested_by text,
  parent text,
  retry_of text,
  created_at timestamptz(3) not null,
  started_at timestamptz(3),
  ended_at timestamptz(3)
);
create index operations_live on imago.operations (seq)
  where state not in ('succeeded', 'failed', 'cancelled');
create index operations_live_by_key on imago.operations (key, seq)
  where state not in ('succeeded', 'failed', 'cancelled');
create index operations_by_state on imago.operations (state, seq);
create index operations_by_kind on imago.operations (kind, seq);
create index operations_by_subject on imago.operations (subject, seq);
create index operations_by_parent on imago.operations (parent, seq) where parent is not null;
select imago.fence_table('imago.operations');

create table imago.steps (
  operation text not null references imago.operations (id) on delete cascade,
  position integer not null,
  name text not null,
  state text not null default 'pending'
    check (state in ('pending', 'running', 'done', 'skipped', 'failed', 'undone', 'undo-failed')),
  attempts integer not null default 0,
  started_at timestamptz(3),
  ended_at timestamptz(3),
  result json,
  error json,
  primary key (operation, position),
  unique (operation, name)
);
select imago.fence_table('imago.steps');

create table imago.operation_logs (
  id bigint generated always as identity primary key,
  operation text not null references imago.operations (id) on delete cascade,
  at timestamptz(3) not null,
  line text not null
);
create index operation_logs_by_operation on imago.operation_logs (operation, id);
select imago.fence_table('imago.operation_logs');
`,
};
