// How versions leave: withdrawals that pass on to descendants, holds, dates of support, what pools ran before,
// and how full galleries were from day to day.
import type { Migration } from './migration.ts';

export const lifecycle: Migration = {
  number: 7,
  name: 'lifecycle',
  sql: `
-- One row for each reason why a version is out. A row with a cause was inherited from an ancestor's, and ends
-- with it. Rows are never deleted: they are lifted.
create table imago.withdrawals (
  id bigint generated always as identity primary key,
  image text not null,
  version text not null,
  cause bigint references imago.withdrawals (id),
  reason text not null check (reason ~ '[^[:space:]]'),
  with_descendants boolean not null,
  effective_at timestamptz(3) not null,
  asked_by text not null,
  operation text not null,
  at timestamptz(3) not null,
  applied_at timestamptz(3),
  lifted_at timestamptz(3),
  lifted_by text,
  lifted_why text,
  lifted_operation text,
  check ((lifted_at is null) = (lifted_by is null))
);
create unique index withdrawals_by_operation on imago.withdrawals (operation, image, version, (coalesce(cause, 0)));
create index withdrawals_live on imago.withdrawals (image, version) where lifted_at is null;
create index withdrawals_by_cause on imago.withdrawals (cause) where cause is not null;
create index withdrawals_due on imago.withdrawals (effective_at) where applied_at is null and lifted_at is null;
create function imago.keep_withdrawal() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.lifted_at is null
    and (new.image, new.version, new.reason, new.with_descendants, new.asked_by, new.operation, new.at)
      = (old.image, old.version, old.reason, old.with_descendants, old.asked_by, old.operation, old.at)
    and new.cause is not distinct from old.cause
    and new.effective_at <= old.effective_at then
    return new;
  end if;
  raise exception 'withdrawal % is kept for ever', old.id using errcode = 'IM002';
end $$;
create trigger b_keep before update or delete on imago.withdrawals
  for each row execute function imago.keep_withdrawal();
select imago.fence_table('imago.withdrawals');

create table imago.holds (
  image text not null,
  version text not null,
  reason text not null check (reason ~ '[^[:space:]]'),
  held_by text not null,
  at timestamptz(3) not null,
  primary key (image, version),
  foreign key (image, version) references imago.versions (image, version)
);
select imago.fence_table('imago.holds');

-- What new nodes of each pool were ever made from, written by the database itself, so that no writer can forget.
create table imago.pool_models (
  id bigint generated always as identity primary key,
  pool text collate "C" not null,
  pool_created_at timestamptz(3) not null,
  image text not null,
  version text not null,
  digest text not null,
  reference text not null,
  move bigint,
  at timestamptz(3) not null default clock_timestamp()
);
create index pool_models_by_pool on imago.pool_models (pool, pool_created_at, id desc);
create index pool_models_by_version on imago.pool_models (image, version);
insert into imago.pool_models (pool, pool_created_at, image, version, digest, reference, move, at)
  select name, created_at, image, version, digest, reference, move, created_at from imago.pools order by name;
select imago.keep_table_forever('imago.pool_models');
select imago.fence_table('imago.pool_models');
create function imago.note_pool_model() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' or (new.image, new.version, new.digest, new.reference, coalesce(new.move, 0))
      is distinct from (old.image, old.version, old.digest, old.reference, coalesce(old.move, 0)) then
    insert into imago.pool_models (pool, pool_created_at, image, version, digest, reference, move)
      values (new.name, new.created_at, new.image, new.version, new.digest, new.reference, new.move);
  end if;
  return null;
end $$;
create trigger c_note_model after insert or update on imago.pools
  for each row execute function imago.note_pool_model();

-- Dates of support that people set: they beat the calendar that Imago brings along.
create table imago.support_dates (
  product text not null,
  line text not null,
  ends_on date not null,
  note text not null,
  set_by text not null,
  at timestamptz(3) not null,
  primary key (product, line)
);
select imago.fence_table('imago.support_dates');

-- What was told once and is not told again.
create table imago.notices (
  kind text not null,
  subject text not null,
  mark text not null,
  at timestamptz(3) not null,
  primary key (kind, subject, mark)
);
select imago.fence_table('imago.notices');

create table imago.limit_samples (
  place text not null,
  name text not null,
  day date not null,
  used bigint not null,
  ceiling bigint not null,
  primary key (place, name, day)
);
select imago.fence_table('imago.limit_samples');

create index nodes_live_by_version on imago.nodes (image, version, name) where ended_at is null;
create index versions_by_state on imago.versions (state, image) where state in ('candidate', 'available', 'deprecated');
create index versions_by_kubernetes on imago.versions (kubernetes) where kubernetes is not null;
`,
};
