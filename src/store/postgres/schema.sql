-- What the migrations make. Written by migrate.test.ts; renew it with `npx vitest -u migrate`.

CREATE OR REPLACE FUNCTION estimate_bucket(estimate_ms bigint)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
    select (estimate_ms >> greatest(length(ltrim(estimate_ms::bit(64)::text, '0')) - 4, 0))
           << greatest(length(ltrim(estimate_ms::bit(64)::text, '0')) - 4, 0)
  $function$;

create table api_keys (
  id text collate "C" not null,
  name text not null,
  hmac text collate "C" not null,
  scopes text[] not null,
  zones text[] not null,
  agents text[] not null,
  created_at bigint not null,
  expires_at bigint not null,
  revoked_at bigint not null,
  constraint api_keys_pkey PRIMARY KEY (id)
);

create table blocks (
  seq bigint not null,
  count integer not null,
  epoch bigint not null,
  now bigint not null,
  prev text collate "C" not null,
  hash text collate "C" not null,
  line text not null,
  constraint blocks_pkey PRIMARY KEY (seq)
);

create table head (
  only_row boolean not null default true,
  epoch bigint not null,
  seq bigint not null,
  hash text collate "C" not null,
  holder text collate "C" not null default ''::text,
  url text not null default ''::text,
  beat bigint not null default 0,
  constraint head_only_row_check CHECK (only_row),
  constraint head_pkey PRIMARY KEY (only_row)
) with (fillfactor=50, autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=1000);

create table idempotency_keys (
  zone text collate "C" not null,
  agent text collate "C" not null,
  key text collate "C" not null,
  task_id text collate "C" not null,
  body_hash text collate "C" not null,
  constraint idempotency_keys_pkey PRIMARY KEY (zone, agent, key)
);

create table logs (
  task_id text collate "C" not null,
  line bigint not null,
  attempt integer not null,
  at bigint not null,
  stream text collate "C" not null,
  text text not null,
  constraint logs_pkey PRIMARY KEY (task_id, line)
) with (autovacuum_vacuum_insert_scale_factor=0.05);

create table members (
  name text collate "C" not null,
  url text not null,
  role text collate "C" not null,
  seq bigint not null,
  seen_at timestamp with time zone not null,
  constraint members_pkey PRIMARY KEY (name)
) with (fillfactor=50);

create table migrations (
  number integer not null,
  name text not null,
  hash text not null,
  applied_at timestamp with time zone not null default now(),
  constraint migrations_pkey PRIMARY KEY (number)
);

create table runs (
  id text collate "C" not null,
  zone text collate "C" not null,
  agent text collate "C" not null,
  name text not null,
  nodes integer not null,
  submitted_at bigint not null,
  submitted_seq bigint not null,
  outcome text collate "C" not null,
  ended_at bigint not null,
  constraint runs_pkey PRIMARY KEY (id)
) with (fillfactor=80);

create table settings (
  name text collate "C" not null,
  value text not null,
  constraint settings_pkey PRIMARY KEY (name)
);

create table snapshot_chunks (
  seq bigint not null,
  at integer not null,
  text text not null,
  constraint snapshot_chunks_pkey PRIMARY KEY (seq, at),
  constraint snapshot_chunks_seq_fkey FOREIGN KEY (seq) REFERENCES snapshots(seq) ON DELETE CASCADE
);

create table snapshots (
  seq bigint not null,
  epoch bigint not null,
  hash text collate "C" not null,
  state_hash text collate "C" not null,
  constraint snapshots_pkey PRIMARY KEY (seq)
);

create table tasks (
  id text collate "C" not null,
  zone text collate "C" not null,
  agent text collate "C" not null,
  submitted_seq bigint not null,
  enqueued_at bigint not null,
  run_at bigint not null,
  deadline bigint not null,
  estimate_ms bigint not null,
  boost_micros bigint not null,
  cost_micros bigint not null,
  started_at bigint not null,
  ended_at bigint not null,
  seq bigint not null,
  attempt integer not null,
  priority smallint not null,
  priority_class smallint not null,
  status smallint not null,
  run_id text collate "C",
  run_node text collate "C",
  executor text collate "C" not null,
  type text collate "C" not null,
  request_state text collate "C" not null,
  worker text collate "C" not null,
  payload_hash text collate "C" not null,
  result_hash text collate "C" not null,
  error_code text collate "C" not null,
  error_message text not null,
  settings text not null,
  payload text not null,
  result text,
  constraint tasks_pkey PRIMARY KEY (id)
) with (fillfactor=80, autovacuum_vacuum_scale_factor=0.02, autovacuum_analyze_scale_factor=0.02, autovacuum_vacuum_insert_scale_factor=0.05, autovacuum_vacuum_cost_delay=0);

CREATE INDEX idempotency_keys_by_task ON idempotency_keys USING btree (task_id);

CREATE INDEX logs_by_time ON logs USING brin (at);

CREATE INDEX runs_by_agent ON runs USING btree (zone, agent, submitted_seq DESC, id DESC);

CREATE INDEX runs_by_end ON runs USING btree (ended_at) WHERE (ended_at >= 0);

CREATE INDEX runs_by_zone ON runs USING btree (zone, submitted_seq DESC, id DESC);

CREATE INDEX tasks_by_agent ON tasks USING btree (zone, agent, status, submitted_seq DESC, id DESC);

CREATE INDEX tasks_by_end ON tasks USING btree (ended_at) WHERE (ended_at >= 0);

CREATE INDEX tasks_by_run ON tasks USING btree (run_id, submitted_seq DESC, id DESC) WHERE (run_id IS NOT NULL);

CREATE INDEX tasks_by_zone ON tasks USING btree (zone, status, submitted_seq DESC, id DESC);

CREATE INDEX tasks_waiting ON tasks USING btree (priority_class, estimate_bucket(estimate_ms), GREATEST(enqueued_at, run_at), id) WHERE ((status = 0) AND (run_id IS NULL));
