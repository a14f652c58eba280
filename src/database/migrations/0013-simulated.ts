// Marks what a simulation made. An image is real or simulated as a whole, from its first version on: the foreign keys
// hold its versions and channels to the same mark, so no caller can put a simulated version on a real channel.
import type { Migration } from './migration.ts';

export const simulated: Migration = {
  number: 13,
  name: 'simulated',
  sql: `
alter table imago.images add simulated boolean not null default false;
alter table imago.versions add simulated boolean not null default false;
alter table imago.channels add simulated boolean not null default false;
alter table imago.evidence add simulated boolean not null default false;

-- Earlier builds recorded a simulation in the result of their operation only. An image is real if every build of it is
-- known to be real: without its operation, or without a result, a build may have been simulated. Imports never were.
update imago.images set simulated = true where name in (
  select v.image from imago.versions v left join imago.operations o on o.id = v.operation
  where v.origin ->> 'kind' <> 'imported' and (o.result is null or o.result ->> 'simulated' = 'true'));
update imago.versions set simulated = true where image in (select name from imago.images where simulated);
update imago.channels set simulated = true where image in (select name from imago.images where simulated);

alter table imago.images add unique (name, simulated);
alter table imago.versions add unique (image, version, simulated),
  add foreign key (image, simulated) references imago.images (name, simulated);
alter table imago.channels
  add foreign key (image, simulated) references imago.images (name, simulated) on update cascade,
  add foreign key (image, version, simulated) references imago.versions (image, version, simulated);

create or replace function imago.keep_version() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    if old.state = 'candidate' then return old; end if;
  elsif (new.image, new.version, new.digest, new.disk_digest, new.size_bytes, new.origin::text, new.operation,
      new.created_at, new.restricted, new.simulated) = (old.image, old.version, old.digest, old.disk_digest,
      old.size_bytes, old.origin::text, old.operation, old.created_at, old.restricted, old.simulated)
    and (new.lock_digest, new.kubernetes) is not distinct from (old.lock_digest, old.kubernetes) then
    return new;
  end if;
  raise exception 'the content of %:% is fixed', old.image, old.version using errcode = 'IM002';
end $$;

-- What made-up machines report proves nothing about a real disk.
create function imago.refuse_simulated_evidence() returns trigger language plpgsql as $$
begin
  if new.simulated and exists (
      select from imago.versions v where v.digest = new.digest and not v.simulated) then
    raise exception 'simulated evidence of the real version %', new.digest using errcode = 'IM002';
  end if;
  return new;
end $$;
create trigger b_real before insert on imago.evidence
  for each row execute function imago.refuse_simulated_evidence();
`,
};
