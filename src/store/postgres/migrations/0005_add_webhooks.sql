-- Where events are sent, and what is to be sent. Outside of the ledger: no decision depends on it.

create table webhooks (
  id              text collate "C" primary key,
  zone            text collate "C" not null,
  url             text not null,
  description     text not null,
  events          text[] not null,
  agents          text[] not null,
  types           text[] not null,
  executors       text[] not null,
  include_result  boolean not null,
  secrets         text not null, -- JSON; not hashed, because they have to sign
  created_at      bigint not null,
  since           bigint not null,
  disabled_at     bigint not null,
  disabled_reason text not null,
  failing_since   bigint not null
);

-- No reference to webhooks: one may be removed while something is added for it. What is left over goes with its age.
create table webhook_deliveries (
  id         text collate "C" primary key,
  webhook_id text collate "C" not null,
  type       text collate "C" not null,
  subject    text collate "C" not null,
  body       text not null,
  created_at bigint not null,
  status     smallint not null default 0,
  tries      integer not null default 0,
  next_at    bigint not null,
  tried_at   bigint not null default -1,
  answered   integer not null default 0,
  error      text not null default ''
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02);

create index webhook_deliveries_by_webhook on webhook_deliveries (webhook_id, id desc);
create index webhook_deliveries_due on webhook_deliveries (webhook_id, next_at, id) where next_at >= 0;
create index webhook_deliveries_by_age on webhook_deliveries (created_at);

-- How far ends were followed; one row, compared and swapped. '': nowhere yet.
create table webhook_cursor (
  only_row boolean primary key default true check (only_row),
  value    text not null
);

insert into webhook_cursor (value) values ('');
