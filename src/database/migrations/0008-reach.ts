// What reaches beyond this place: galleries that versions are copied to, and webhooks that others are told by.
import type { Migration } from './migration.ts';

export const reach: Migration = {
  number: 8,
  name: 'reach',
  sql: `
create table imago.galleries (
  name text collate "C" primary key,
  provider text not null,
  place text,
  home text,
  channels json not null,
  regions json not null,
  public boolean not null,
  azure json,
  added_by text not null,
  at timestamptz(3) not null
);
select imago.fence_table('imago.galleries');

-- No secret stands here: it is made from the salt and a key that only the daemon's own folder holds.
create table imago.webhooks (
  name text collate "C" primary key,
  url text not null,
  events json not null,
  image text,
  allow_private boolean not null,
  salt text not null,
  key_id text not null,
  -- Events up to this one were looked at.
  seen bigint not null,
  state text not null check (state in ('active', 'gone')),
  added_by text not null,
  at timestamptz(3) not null
);
select imago.fence_table('imago.webhooks');

create table imago.webhook_deliveries (
  id bigint generated always as identity primary key,
  webhook text collate "C" not null references imago.webhooks (name) on delete cascade,
  event bigint not null,
  type text not null,
  body text not null,
  state text not null check (state in ('waiting', 'delivered', 'failed')),
  attempts integer not null,
  next_at timestamptz(3) not null,
  status integer,
  error text,
  at timestamptz(3) not null,
  ended_at timestamptz(3),
  unique (webhook, event)
);
create index webhook_deliveries_waiting on imago.webhook_deliveries (webhook, next_at) where state = 'waiting';
create index webhook_deliveries_ended on imago.webhook_deliveries (ended_at) where ended_at is not null;
select imago.fence_table('imago.webhook_deliveries');
`,
};
