// The OS user behind a request, schedules that ended with their owner's rights, and idempotency keys that have expired.
import type { Migration } from './migration.ts';

export const owners: Migration = {
  number: 12,
  name: 'owners',
  sql: `
alter table imago.audit add column os_user text;
alter table imago.operations add column os_user text;
alter table imago.schedules
  add column os_user text,
  add column stopped_at timestamptz(3),
  add column stopped_why text,
  add check ((stopped_at is null) = (stopped_why is null));

-- What is left of an idempotency key after its lifetime: 16 bytes, enough to refuse it. A key contains no space.
create function imago.spent_key(who text, key text) returns uuid language sql immutable as $$
  select encode(substr(sha256(convert_to(key || ' ' || who, 'UTF8')), 1, 16), 'hex')::uuid
$$;
create table imago.spent_keys (hash uuid primary key);
select imago.fence_table('imago.spent_keys');
create index tokens_by_owner on imago.tokens (owner) where revoked_at is null;
`,
};
