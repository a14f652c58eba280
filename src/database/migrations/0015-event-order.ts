// Lets transactions add events at the same time. Before, one lock was held from the choice of an id to the commit, so
// each transaction waited for the disk alone.
import type { Migration } from './migration.ts';

export const eventOrder: Migration = {
  number: 15,
  name: 'event-order',
  sql: `
-- An id may now become visible after a higher one. Until its commit, a writer holds a shared lock whose number is the
-- last id before its own: readers pass over no id if they stop at the lowest of these numbers (settled_events).
-- It does not notify listeners: that would make commits wait for each other again.
create function imago.add_events(types text[], subjects text[], data json[]) returns void language plpgsql as $$
begin
  if types is null then return; end if;
  perform pg_advisory_xact_lock_shared((1229799752::bigint << 32) + imago.last_event_id());
  insert into imago.events (type, subject, data)
    select e.type, e.subject, e.data
    from unnest(types, subjects, add_events.data) with ordinality as e (type, subject, data, place) order by place;
end $$;

create function imago.last_event_id() returns bigint language sql as $$
  select case when is_called then last_value else 0 end from imago.events_id_seq
$$;

-- The order matters: an id that is chosen after the first statement is above what it returns. Read the events in a later
-- statement, which sees what was committed until then.
create function imago.settled_events() returns bigint language plpgsql as $$
declare
  last bigint := imago.last_event_id();
  lowest bigint;
begin
  select min((classid::bigint - 1229799752 << 32) + objid::bigint) into lowest from pg_locks
    where locktype = 'advisory' and objsubid = 1 and classid between 1229799752 and 1229799752 + 255
      and database = (select oid from pg_database where datname = current_database());
  return least(last, lowest);
end $$;

create or replace function imago.add_event(type text, subject text, data json) returns bigint language plpgsql as $$
begin
  perform imago.add_events(array[add_event.type], array[add_event.subject], array[add_event.data]);
  perform pg_notify('imago_events', '');
  return imago.last_event_id();
end $$;
`,
};
