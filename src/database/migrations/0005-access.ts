// Tokens, the audit log, idempotency keys and schedules.
import type { Migration } from './migration.ts';

export const access: Migration = {
  number: 5,
  name: 'access',
  sql: `
create table imago.tokens (
  id text primary key,
  owner text not null,
  role text not null check (role in ('viewer', 'operator', 'publisher', 'admin')),
  secret_hash bytea not null unique check (length(secret_hash) = 32),
  created_at timestamptz(3) not null default clock_timestamp(),
  expires_at timestamptz(3) not null,
  revoked_at timestamptz(3),
  last_used_at timestamptz(3)
);
create index tokens_by_age on imago.tokens (created_at desc, id desc);
select imago.fence_table('imago.tokens');

create table imago.audit (
  id bigint generated always as identity primary key,
  at timestamptz(3) not null default clock_timestamp(),
  who text not null,
  what text not null,
  subject text not null,
  before json,
  after json,
  request_id text not null,
  status integer not null,
  entry uuid not null unique
);
create index audit_by_subject on imago.audit (subject, id);
select imago.keep_table_forever('imago.audit');
select imago.fence_table('imago.audit');

create table imago.idempotency_keys (
  key text not null,
  who text not null,
  fingerprint text not null,
  epoch bigint not null,
  claimed_at timestamptz(3) not null default clock_timestamp(),
  claim uuid not null,
  status integer,
  body json,
  primary key (who, key)
);
create index idempotency_keys_by_age on imago.idempotency_keys (claimed_at);
select imago.fence_table('imago.idempotency_keys');

create table imago.schedules (
  name text collate "C" primary key,
  cron text not null,
  time_zone text not null,
  kind text not null,
  subject text not null,
  input json not null,
  requested_by text not null,
  created_at timestamptz(3) not null default clock_timestamp(),
  last_fired_at timestamptz(3),
  last_operation text
);
select imago.fence_table('imago.schedules');
`,
};
