// The fence that refuses writes of a daemon which is no longer active, and the log of events for watchers.
import type { Migration } from './migration.ts';

export const events: Migration = {
  number: 1,
  name: 'events',
  sql: `
-- The shared lock lets the next daemon wait until no write of the last one is under way (see lease.ts).
create function imago.refuse_stale_epoch() returns trigger language plpgsql as $$
declare
  mine text := current_setting('imago.epoch', true);
  active bigint;
begin
  perform pg_advisory_xact_lock_shared(1229799751, 3);
  select epoch into active from imago.lease;
  if mine is null or mine = '' or mine::bigint <> active then
    raise exception 'epoch % is not the active one, %', coalesce(nullif(mine, ''), 'none'), active
      using errcode = 'IM001';
  end if;
  return null;
end $$;

create function imago.fence_table(guarded regclass) returns void language plpgsql as $$
begin
  execute format(
    'create or replace trigger a_fence before insert or update or delete or truncate on %s
     for each statement execute function imago.refuse_stale_epoch()', guarded);
end $$;

create function imago.keep_forever() returns trigger language plpgsql as $$
begin
  raise exception '%.% is kept for ever and cannot be changed by %', tg_table_schema, tg_table_name, tg_op
    using errcode = 'IM002';
end $$;

create function imago.keep_table_forever(guarded regclass) returns void language plpgsql as $$
begin
  execute format(
    'create trigger b_keep before update or delete or truncate on %s
     for each statement execute function imago.keep_forever()', guarded);
end $$;

create table imago.events (
  id bigint generated always as identity primary key,
  at timestamptz(3) not null default clock_timestamp(),
  type text not null,
  subject text not null,
  data json not null
);
create index events_by_subject on imago.events (subject, id);
select imago.fence_table('imago.events');

-- An id that was chosen earlier must not become visible later, or a watcher would pass over it: the lock is
-- held from the choice to the commit. Call it last in a transaction.
create function imago.add_event(type text, subject text, data json) returns bigint language plpgsql as $$
declare
  added bigint;
begin
  perform pg_advisory_xact_lock(1229799751, 4);
  insert into imago.events (type, subject, data) values (add_event.type, add_event.subject, add_event.data)
    returning id into added;
  perform pg_notify('imago_events', '');
  return added;
end $$;
`,
};
