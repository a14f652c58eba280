// Images, their numbers and versions, channels with their moves, and evidence.
import type { Migration } from './migration.ts';

export const catalogue: Migration = {
  number: 3,
  name: 'catalogue',
  sql: `
create table imago.images (
  name text collate "C" primary key,
  os text not null check (os in ('linux', 'windows')),
  architecture text not null check (architecture in ('x64', 'arm64')),
  numbering text not null check (numbering in ('semver', 'date', 'calendar', 'kubernetes', 'kubernetes-build')),
  created_at timestamptz(3) not null
);
select imago.fence_table('imago.images');

-- A number is never used again, also when its version is gone: rows stay, and remember what they stood for.
create table imago.numbers (
  image text not null references imago.images (name),
  number text not null check (number ~ '^(0|[1-9][0-9]{0,9})([.](0|[1-9][0-9]{0,9})){2}$'),
  operation text not null,
  reserved boolean not null,
  digest text,
  at timestamptz(3) not null,
  primary key (image, number)
);
create unique index numbers_by_operation on imago.numbers (image, operation) where reserved;
create function imago.keep_number() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.digest is null
    and (new.image, new.number, new.operation, new.reserved, new.at)
      = (old.image, old.number, old.operation, old.reserved, old.at) then
    return new;
  end if;
  raise exception 'number %:% was given and stays given', old.image, old.number using errcode = 'IM002';
end $$;
create trigger b_keep before update or delete on imago.numbers
  for each row execute function imago.keep_number();
select imago.fence_table('imago.numbers');

create table imago.versions (
  image text not null,
  version text not null,
  major integer not null generated always as (split_part(version, '.', 1)::integer) stored,
  minor integer not null generated always as (split_part(version, '.', 2)::integer) stored,
  patch integer not null generated always as (split_part(version, '.', 3)::integer) stored,
  digest text not null,
  disk_digest text not null,
  size_bytes bigint not null check (size_bytes >= 0),
  state text not null check (state in ('candidate', 'available', 'deprecated', 'withdrawn', 'deleted')),
  origin json not null,
  lock_digest text,
  kubernetes text,
  reason text,
  withdrawn_from text check (withdrawn_from in ('candidate', 'available', 'deprecated')),
  operation text not null,
  created_at timestamptz(3) not null,
  primary key (image, version),
  foreign key (image, version) references imago.numbers (image, number)
);
create index versions_by_number on imago.versions (image, major desc, minor desc, patch desc);
create index versions_by_age on imago.versions (image, created_at desc);
create index versions_usable_by_age on imago.versions (image, created_at desc)
  where state not in ('withdrawn', 'deleted');
create index versions_available_by_age on imago.versions (image, created_at desc) where state = 'available';
create index versions_by_digest on imago.versions (digest, image);
create index versions_by_lock on imago.versions (lock_digest, image) where lock_digest is not null;
create index versions_by_parent on imago.versions ((origin ->> 'parent')) where origin ->> 'parent' is not null;

-- Content never changes; only a candidate can be taken back.
create function imago.keep_version() returns trigger language plpgsql as $$
begin
  if tg_op = 'DELETE' then
    if old.state = 'candidate' then return old; end if;
  elsif (new.image, new.version, new.digest, new.disk_digest, new.size_bytes, new.origin::text, new.operation,
      new.created_at) = (old.image, old.version, old.digest, old.disk_digest, old.size_bytes, old.origin::text,
      old.operation, old.created_at)
    and (new.lock_digest, new.kubernetes) is not distinct from (old.lock_digest, old.kubernetes) then
    return new;
  end if;
  raise exception 'the content of %:% is fixed', old.image, old.version using errcode = 'IM002';
end $$;
create trigger b_keep before update or delete on imago.versions
  for each row execute function imago.keep_version();
select imago.fence_table('imago.versions');

create table imago.channels (
  image text not null references imago.images (name),
  name text collate "C" not null,
  for_testing boolean not null,
  managed boolean not null,
  version text,
  digest text,
  move bigint,
  moved_at timestamptz(3),
  primary key (image, name),
  foreign key (image, version) references imago.versions (image, version),
  check ((version is null) = (digest is null))
);
create index channels_by_version on imago.channels (image, version) where version is not null;
select imago.fence_table('imago.channels');

create table imago.channel_moves (
  id bigint generated always as identity primary key,
  image text not null,
  channel text not null,
  from_version text,
  to_version text,
  to_digest text,
  moved_by text not null,
  why text not null,
  operation text,
  at timestamptz(3) not null,
  check ((to_version is null) = (to_digest is null))
);
create index channel_moves_by_channel on imago.channel_moves (image, channel, id);
create index channel_moves_by_image on imago.channel_moves (image, id);
create index channel_moves_by_version on imago.channel_moves (image, to_version);
create index channel_moves_by_time on imago.channel_moves (image, channel, at, id);
select imago.keep_table_forever('imago.channel_moves');
select imago.fence_table('imago.channel_moves');

create table imago.evidence (
  id bigint generated always as identity primary key,
  digest text not null,
  kind text not null check (kind in ('test', 'scan', 'approval')),
  passed boolean not null,
  summary text not null,
  details json not null,
  given_by text not null,
  operation text,
  at timestamptz(3) not null
);
create index evidence_by_digest on imago.evidence (digest, id);
select imago.keep_table_forever('imago.evidence');
select imago.fence_table('imago.evidence');
`,
};
