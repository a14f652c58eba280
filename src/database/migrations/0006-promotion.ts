// What promotion by policy needs: channels in order, restricted versions, the policies that were ever in force,
// the units that were tested together, what each move was decided on, and its signed statement.
import type { Migration } from './migration.ts';

export const promotion: Migration = {
  number: 6,
  name: 'promotion',
  sql: `
alter table imago.channels
  add position integer not null default 0,
  add public boolean not null default false;
update imago.channels set position = case name when 'staging' then 1 when 'production' then 2 else 3 end;

alter table imago.versions add restricted boolean not null default false;
create or replace function imago.keep_version() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    if old.state = 'candidate' then return old; end if;
  elsif (new.image, new.version, new.digest, new.disk_digest, new.size_bytes, new.origin::text, new.operation,
      new.created_at, new.restricted) = (old.image, old.version, old.digest, old.disk_digest, old.size_bytes,
      old.origin::text, old.operation, old.created_at, old.restricted)
    and (new.lock_digest, new.kubernetes) is not distinct from (old.lock_digest, old.kubernetes) then
    return new;
  end if;
  raise exception 'the content of %:% is fixed', old.image, old.version using errcode = 'IM002';
end $$;

-- What every gate of the policy said when the channel moved.
alter table imago.channel_moves add policy json;

create table imago.composed_versions (
  id text primary key,
  digest text not null,
  content json not null,
  at timestamptz(3) not null
);
create index composed_versions_by_digest on imago.composed_versions (digest, at);
select imago.keep_table_forever('imago.composed_versions');
select imago.fence_table('imago.composed_versions');
alter table imago.evidence add composed text;

-- The newest row is in force.
create table imago.policies (
  id bigint generated always as identity primary key,
  text text not null,
  content json not null,
  digest text not null,
  set_by text not null,
  why text not null,
  at timestamptz(3) not null
);
select imago.keep_table_forever('imago.policies');
select imago.fence_table('imago.policies');

create table imago.attestations (
  move bigint primary key,
  digest text not null,
  predicate_type text not null,
  envelope text not null,
  at timestamptz(3) not null
);
create index attestations_by_digest on imago.attestations (digest, move);
select imago.keep_table_forever('imago.attestations');
select imago.fence_table('imago.attestations');
`,
};
