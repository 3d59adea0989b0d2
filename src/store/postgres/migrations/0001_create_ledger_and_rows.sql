-- The ledger, and the rows that are committed with it. All names are looked up in the schema that is opened.
--
-- Times are milliseconds since 1970 and money is in millionths, both as bigint, exactly as the scheduler counts;
-- -1 stands for "not yet" or "none", as in rows.ts. Statuses and classes are numbers, so that they sort by rank.
-- Ids compare byte by byte ("C"), as the scheduler compares them.

-- One row, changed by every commit: room on the page lets the new version stand beside the old one.
create table head (
  only_row boolean primary key default true check (only_row),
  epoch    bigint not null,
  seq      bigint not null,
  hash     text collate "C" not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

insert into head (epoch, seq, hash) values (0, 0, repeat('0', 64));

-- Written once, never changed.
create table blocks (
  seq   bigint primary key,
  count integer not null,
  epoch bigint not null,
  now   bigint not null,
  prev  text collate "C" not null,
  hash  text collate "C" not null,
  line  text not null
);

-- A snapshot may be hundreds of megabytes: more than one value or one message should hold.
create table snapshots (
  seq        bigint primary key,
  epoch      bigint not null,
  hash       text collate "C" not null,
  state_hash text collate "C" not null
);

create table snapshot_chunks (
  seq  bigint not null references snapshots on delete cascade,
  at   integer not null,
  text text not null,
  primary key (seq, at)
);

-- Payloads, settings and results are text: jsonb refuses \u0000 and changes numbers.
create table tasks (
  id             text collate "C" primary key,
  zone           text collate "C" not null,
  agent          text collate "C" not null,
  submitted_seq  bigint not null,
  enqueued_at    bigint not null,
  run_at         bigint not null,
  deadline       bigint not null,
  estimate_ms    bigint not null,
  boost_micros   bigint not null,
  cost_micros    bigint not null,
  started_at     bigint not null,
  ended_at       bigint not null,
  seq            bigint not null,
  attempt        integer not null,
  priority       smallint not null,
  priority_class smallint not null,
  status         smallint not null,
  run_id         text collate "C",
  run_node       text collate "C",
  executor       text collate "C" not null,
  type           text collate "C" not null,
  request_state  text collate "C" not null,
  worker         text collate "C" not null,
  payload_hash   text collate "C" not null,
  result_hash    text collate "C" not null,
  error_code     text collate "C" not null,
  error_message  text not null,
  settings       text not null,
  payload        text not null,
  result         text
) with (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
        autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

-- Lists are newest first. The status stands before the order: a list takes the heads of the statuses that it
-- wants and merges them, so that a rare status among millions of others is found at once.
create index tasks_by_zone on tasks (zone, status, submitted_seq desc, id desc);
create index tasks_by_agent on tasks (zone, agent, status, submitted_seq desc, id desc);
create index tasks_by_run on tasks (run_id, submitted_seq desc, id desc) where run_id is not null;
create index tasks_by_end on tasks (ended_at) where ended_at >= 0;

-- Estimates that agree in their highest four bits: the lower edge of the bucket, at most an eighth below.
-- Integers only, so that every machine agrees on the buckets.
create function estimate_bucket(estimate_ms bigint) returns bigint
  language sql immutable strict parallel safe
  as $$
    select (estimate_ms >> greatest(length(ltrim(estimate_ms::bit(64)::text, '0')) - 4, 0))
           << greatest(length(ltrim(estimate_ms::bit(64)::text, '0')) - 4, 0)
  $$;

-- What waits on its own, in buckets of nearly equal estimates: within one, who is older is nearly always first.
create index tasks_waiting on tasks
  (priority_class, estimate_bucket(estimate_ms), greatest(enqueued_at, run_at), id)
  where status = 0 and run_id is null;

create table idempotency_keys (
  zone      text collate "C" not null,
  agent     text collate "C" not null,
  key       text collate "C" not null,
  task_id   text collate "C" not null,
  body_hash text collate "C" not null,
  primary key (zone, agent, key)
);

create index idempotency_keys_by_task on idempotency_keys (task_id);

create table runs (
  id            text collate "C" primary key,
  zone          text collate "C" not null,
  agent         text collate "C" not null,
  name          text not null,
  nodes         integer not null,
  submitted_at  bigint not null,
  submitted_seq bigint not null,
  outcome       text collate "C" not null,
  ended_at      bigint not null
) with (fillfactor = 80);

create index runs_by_zone on runs (zone, submitted_seq desc, id desc);
create index runs_by_agent on runs (zone, agent, submitted_seq desc, id desc);
create index runs_by_end on runs (ended_at) where ended_at >= 0;

create table logs (
  task_id text collate "C" not null,
  line    bigint not null,
  attempt integer not null,
  at      bigint not null,
  stream  text collate "C" not null,
  text    text not null,
  primary key (task_id, line)
) with (autovacuum_vacuum_insert_scale_factor = 0.05);

create index logs_by_time on logs using brin (at);

create table api_keys (
  id         text collate "C" primary key,
  name       text not null,
  hmac       text collate "C" not null,
  scopes     text[] not null,
  zones      text[] not null,
  agents     text[] not null,
  created_at bigint not null,
  expires_at bigint not null,
  revoked_at bigint not null
);

create table settings (
  name  text collate "C" primary key,
  value text not null
);
