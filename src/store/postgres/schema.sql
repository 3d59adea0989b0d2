-- What the migrations make. Written by migrate.test.ts; renew it with `npx vitest migrate -u`.

CREATE OR REPLACE FUNCTION are_amounts(value jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
    select case when jsonb_typeof(value) = 'object'
                then (select count(*) <= 20 and coalesce(bool_and(is_name(to_jsonb(name)) and is_amount(amount)), true)
                        from jsonb_each(value) counted (name, amount))
                else false end
  $function$;

CREATE OR REPLACE FUNCTION are_names(value jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
    select case when jsonb_typeof(value) = 'array' and jsonb_array_length(value) <= 20
                then not exists (select from jsonb_array_elements(value) name where not is_name(name))
                else false end
  $function$;

CREATE OR REPLACE FUNCTION estimate_bucket(estimate_ms bigint)
 RETURNS bigint
 LANGUAGE sql
 IMMUTABLE PARALLEL SAFE STRICT
AS $function$
    select (estimate_ms >> greatest(length(ltrim(estimate_ms::bit(64)::text, '0')) - 4, 0))
           << greatest(length(ltrim(estimate_ms::bit(64)::text, '0')) - 4, 0)
  $function$;

CREATE OR REPLACE FUNCTION given_problem(field text, value jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
    select case
      when field in ('zone', 'agent') and not is_visible(value)
        then 'must have 1 to 256 visible ASCII characters and no spaces'
      else option_problem(field, value)
    end
  $function$;

CREATE OR REPLACE FUNCTION is_amount(value jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
    select is_number(value, 0, 1000000000) and (value #>> '{}') ~ '^\d+$'
  $function$;

CREATE OR REPLACE FUNCTION is_budget(value jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
    select case when jsonb_typeof(value) = 'object'
                then (select coalesce(bool_and(case
                        when part in ('ops', 'spawn_count', 'channel_ops', 'syscalls')
                          then is_number(amount, 0, 4294967295) and (amount #>> '{}') ~ '^\d+$'
                        when part = 'memory' then is_size(amount)
                        when part = 'on_exhausted' then amount in ('"wait"', '"fail"')
                        else false end), true)
                      from jsonb_each(value) asked (part, amount))
                else false end
  $function$;

CREATE OR REPLACE FUNCTION is_name(value jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
    select jsonb_typeof(value) = 'string' and length(value #>> '{}') between 1 and 256
           and (value #>> '{}') !~ '[\u0001-\u001f\u007f-\u009f]'
  $function$;

CREATE OR REPLACE FUNCTION is_number(value jsonb, low numeric, high numeric)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
    select case when jsonb_typeof(value) = 'number' then (value #>> '{}')::numeric between low and high
                else false end
  $function$;

CREATE OR REPLACE FUNCTION is_size(value jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$
    select case jsonb_typeof(value)
             when 'number' then (value #>> '{}') ~ '^\d{1,15}$'
             when 'string' then (value #>> '{}') ~ '^\d{1,15}(\.\d{1,15})? ?([kKMGT]B|[KMGT]iB|B)$'
             else false end
  $function$;

CREATE OR REPLACE FUNCTION is_time(value jsonb)
 RETURNS boolean
 LANGUAGE plpgsql
 STABLE
AS $function$
    begin
      return jsonb_typeof(value) = 'string'
         and (value #>> '{}') ~ '^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$'
         and (value #>> '{}')::timestamptz >= '1970-01-01T00:00:00Z';
    exception when datetime_field_overflow or invalid_datetime_format then
      return false;
    end
  $function$;

CREATE OR REPLACE FUNCTION is_visible(value jsonb)
 RETURNS boolean
 LANGUAGE sql
 IMMUTABLE
AS $function$ select is_name(value) and (value #>> '{}') ~ '^[\u0021-\u007e]+$' $function$;

CREATE OR REPLACE FUNCTION new_task_id()
 RETURNS text
 LANGUAGE sql
AS $function$
    select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
             placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
             from 1 for 6), 52, 1), 53, 1), 'hex')::uuid::text
  $function$;

CREATE OR REPLACE FUNCTION option_problem(field text, value jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
    select case
      when field in ('executor', 'zone', 'agent', 'idempotency_key') then
        case when not is_name(value) then 'must have 1 to 256 characters, none of them a control character' end
      when field = 'capabilities' then
        case when not are_names(value) then 'must be a list of up to 20 names such as ["net"]' end
      when field = 'limits' then
        case when not are_names(value) and not are_amounts(value)
             then 'must be a list of up to 20 names such as ["openai"], or an object with whole numbers such as {"gpu": 2}'
        end
      when field = 'tokens' then
        case when not is_amount(value) then 'must be a whole number from 0 to 1000000000' end
      when field = 'budget' then
        case when not is_budget(value)
             then 'must be an object with ops, memory, spawn_count, channel_ops, syscalls or on_exhausted ("wait" or "fail") '
                  'such as {"ops": 50000}' end
      when field = 'priority' then
        case when value not in ('"critical"', '"high"', '"normal"', '"low"', '"best_effort"')
             then 'must be critical, high, normal, low or best_effort' end
      when field = 'request_state' then
        case when value not in ('"io_wait"', '"compute"', '"tool_call"', '"idle"', '"pending"')
             then 'must be io_wait, compute, tool_call, idle or pending' end
      when field in ('estimated_service_time', 'timeout') then
        case when not is_number(value, 0, 315360000) or value = '0'
             then 'must be a number of seconds, more than 0 and at most 315360000' end
      when field = 'retry_backoff' then
        case when not is_number(value, 0, 315360000)
             then 'must be a number of seconds from 0 to 315360000' end
      when field = 'max_attempts' then
        case when not is_number(value, 1, 101) or (value #>> '{}') !~ '^\d+$'
             then 'must be a whole number from 1 to 101' end
      when field in ('deadline', 'run_at') then
        case when not is_time(value) then 'must be a time with a zone such as "2026-03-01T10:00:00Z"' end
      when field = 'boost' then
        case when case when jsonb_typeof(value) in ('number', 'string')
                            and (value #>> '{}') ~ '^\d{1,7}(\.\d{1,6}0*)?$'
                       then (value #>> '{}')::numeric > 1000000 else true end
             then 'must be a decimal from 0 to 1000000 with up to 6 places such as "0.01"' end
      when field = 'resources' then
        case when jsonb_typeof(value) <> 'object' or value - 'cpu' - 'memory' <> '{}'
             then 'must be an object with cpu, memory or both such as {"cpu": 0.5, "memory": "512MiB"}'
             when value ? 'cpu' and not is_number(value -> 'cpu', 0, 1000000)
                  and (value ->> 'cpu') !~ '^\d{1,9} ?m$'
             then 'has a cpu that is no number of cores such as 0.5, nor millicores such as "500m"'
             when value ? 'memory' and not is_size(value -> 'memory')
             then 'has a memory that is no whole number of bytes, nor a size such as "512MiB"' end
      else 'is unknown; known are agent, boost, budget, capabilities, deadline, estimated_service_time, executor, '
           'idempotency_key, limits, max_attempts, priority, request_state, resources, retry_backoff, run_at, '
           'timeout, tokens and zone'
    end
  $function$;

CREATE OR REPLACE FUNCTION payload_problem(payload jsonb)
 RETURNS text
 LANGUAGE sql
 IMMUTABLE
 SET extra_float_digits TO '1'
AS $function$
    select case when abs(n) > 1.7976931348623158e308
                then format('payload has %s, which is too large for a number; send it as a text', left(n::text, 60))
                else format('payload has %s, which has more digits than a number can; send it as a text', left(n::text, 60))
           end
      from (select (value #>> '{}')::numeric as n
              from jsonb_path_query(payload, 'strict $.** ? (@.type() == "number"
                                              && (@ > 9007199254740991 || @ < -9007199254740991))') value) large
     where case when abs(n) > 1.7976931348623158e308 then true
                when n = trunc(n) then n <> n::float8::text::numeric
                else false end
     limit 1
  $function$;

CREATE OR REPLACE FUNCTION submission_problem(type text, payload jsonb, options jsonb)
 RETURNS text
 LANGUAGE sql
 STABLE
AS $function$
    select case
      when type is null or not is_name(to_jsonb(type))
        then 'type must have 1 to 256 characters, none of them a control character'
      when jsonb_typeof(payload) <> 'object' then 'payload must be a JSON object such as {"a": 1}'
      when octet_length(payload::text) > 1048576
        then 'payload must fit into 1 MiB of JSON; keep large data elsewhere and pass its name'
      when payload_problem(payload) is not null then payload_problem(payload)
      when jsonb_typeof(options) <> 'object' then 'options must be a JSON object such as {"priority": "high"}'
      else (select format('options.%s %s; got %s', left(field, 100), given_problem(field, value),
                          left(value::text, 60))
              from jsonb_each(options) given (field, value)
             where given_problem(field, value) is not null
             order by field
             limit 1)
    end
  $function$;

CREATE OR REPLACE FUNCTION submit(type text, payload jsonb DEFAULT '{}'::jsonb, options jsonb DEFAULT '{}'::jsonb)
 RETURNS text
 LANGUAGE plpgsql
 SECURITY DEFINER
 SET search_path TO 'orrery', 'pg_temp'
AS $function$
    declare
      problem text;
      asked jsonb := jsonb_strip_nulls(coalesce(submit.options, '{}'));
      content jsonb := coalesce(submit.payload, '{}');
      in_zone text := coalesce(asked ->> 'zone', 'default');
      of_agent text := coalesce(asked ->> 'agent', session_user);
      its_key text := asked ->> 'idempotency_key';
      new_id text := new_task_id();
      known_id text;
      its_body text;
    begin
      problem := submission_problem(submit.type, content, asked);
      if problem is not null then
        raise exception using errcode = 'invalid_parameter_value', message = 'orrery.submit: ' || problem;
      end if;
      its_body := jsonb_build_object('executor', 'default', 'task_type', submit.type, 'payload', content)
                  || (asked - 'zone' - 'agent');
      loop
        select k.task_id into known_id from idempotency_keys k
         where k.zone = in_zone and k.agent = of_agent and k.key = its_key;
        exit when found;
        -- What was refused for good under this key makes room.
        delete from inbox i
         where i.zone = in_zone and i.agent = of_agent and i.key = its_key and i.error is not null;
        -- Waits for another transaction with the same key to end.
        insert into inbox (task_id, zone, agent, key, bytes, body)
        values (new_id, in_zone, of_agent, its_key, octet_length(its_body), its_body)
            on conflict do nothing;
        if found then
          if its_key is null then return new_id; end if;
          -- The one before may have been taken in, and left the inbox, since we looked.
          select k.task_id into known_id from idempotency_keys k
           where k.zone = in_zone and k.agent = of_agent and k.key = its_key;
          if not found then return new_id; end if;
          delete from inbox i where i.task_id = new_id;
          exit;
        end if;
        select i.task_id into known_id from inbox i
         where i.zone = in_zone and i.agent = of_agent and i.key = its_key;
        exit when found;
      end loop;
      return known_id;
    end
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
  key_id text collate "C" not null default ''::text,
  handed_to text collate "C" not null default ''::text,
  constraint api_keys_pkey PRIMARY KEY (id)
);

create table audit (
  id text collate "C" not null,
  at bigint not null,
  zone text collate "C" not null,
  key_id text collate "C" not null,
  agent text not null,
  action text collate "C" not null,
  target text not null,
  detail text not null,
  before text not null default 'null'::text,
  seq bigint not null default '-1'::integer,
  constraint audit_pkey PRIMARY KEY (id)
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

create table inbox (
  number bigint not null,
  task_id text collate "C" not null,
  zone text collate "C" not null,
  agent text collate "C" not null,
  key text collate "C",
  at timestamp with time zone not null default clock_timestamp(),
  bytes integer not null,
  body text not null,
  error text,
  constraint inbox_pkey PRIMARY KEY (number)
) with (autovacuum_vacuum_scale_factor=0, autovacuum_vacuum_threshold=5000, autovacuum_vacuum_cost_delay=0);

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

create table progress (
  submitted_seq bigint not null,
  seq bigint not null,
  started_at bigint not null,
  ended_at bigint not null,
  cost_micros bigint not null,
  attempt integer not null,
  status smallint not null,
  id text collate "C" not null,
  zone text collate "C" not null,
  agent text collate "C" not null,
  worker text collate "C" not null,
  result_hash text collate "C" not null,
  error_code text collate "C" not null,
  error_message text not null,
  result text,
  constraint progress_pkey PRIMARY KEY (id)
) with (fillfactor=90, autovacuum_vacuum_scale_factor=0.02, autovacuum_analyze_scale_factor=0.02, autovacuum_vacuum_insert_scale_factor=0.05, autovacuum_vacuum_cost_delay=0);

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

create table schedules (
  id text collate "C" not null,
  zone text collate "C" not null,
  agent text collate "C" not null,
  name text not null,
  cron text not null,
  time_zone text not null,
  task text not null,
  catch_up text not null,
  catch_up_limit integer not null,
  overlap text not null,
  start_at bigint not null,
  end_at bigint not null,
  paused boolean not null,
  created_at bigint not null,
  seen_to bigint not null,
  last_fired_at bigint not null,
  last_task_id text collate "C" not null,
  last_error text not null,
  key_id text collate "C" not null default ''::text,
  constraint schedules_pkey PRIMARY KEY (id)
);

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

create table submissions (
  id text collate "C" not null,
  zone text collate "C" not null,
  agent text collate "C" not null,
  submitted_seq bigint not null,
  enqueued_at bigint not null,
  run_at bigint not null,
  deadline bigint not null,
  estimate_ms bigint not null,
  boost_micros bigint not null,
  priority smallint not null,
  priority_class smallint not null,
  run_id text collate "C",
  run_node text collate "C",
  executor text collate "C" not null,
  type text collate "C" not null,
  request_state text collate "C" not null,
  payload_hash text collate "C" not null,
  settings text not null,
  payload text not null,
  constraint submissions_pkey PRIMARY KEY (id)
) with (autovacuum_vacuum_scale_factor=0.02, autovacuum_analyze_scale_factor=0.02, autovacuum_vacuum_insert_scale_factor=0.05, autovacuum_vacuum_cost_delay=0);

create table tickets (
  hash text collate "C" not null,
  expires_at bigint not null,
  constraint tickets_pkey PRIMARY KEY (hash)
);

create table usages (
  id text collate "C" not null,
  used bigint[] not null,
  recharged bigint[] not null,
  constraint usages_pkey PRIMARY KEY (id)
);

create table webhook_cursor (
  only_row boolean not null default true,
  value text not null,
  constraint webhook_cursor_only_row_check CHECK (only_row),
  constraint webhook_cursor_pkey PRIMARY KEY (only_row)
);

create table webhook_deliveries (
  id text collate "C" not null,
  webhook_id text collate "C" not null,
  type text collate "C" not null,
  subject text collate "C" not null,
  body text not null,
  created_at bigint not null,
  status smallint not null default 0,
  tries integer not null default 0,
  next_at bigint not null,
  tried_at bigint not null default '-1'::integer,
  answered integer not null default 0,
  error text not null default ''::text,
  constraint webhook_deliveries_pkey PRIMARY KEY (id)
) with (fillfactor=80, autovacuum_vacuum_scale_factor=0.02);

create table webhooks (
  id text collate "C" not null,
  zone text collate "C" not null,
  url text not null,
  description text not null,
  events text[] not null,
  agents text[] not null,
  types text[] not null,
  executors text[] not null,
  include_result boolean not null,
  secrets text not null,
  created_at bigint not null,
  since bigint not null,
  disabled_at bigint not null,
  disabled_reason text not null,
  failing_since bigint not null,
  key_id text collate "C" not null default ''::text,
  constraint webhooks_pkey PRIMARY KEY (id)
);

create view tasks (
  id text,
  zone text,
  agent text,
  submitted_seq bigint,
  enqueued_at bigint,
  run_at bigint,
  deadline bigint,
  estimate_ms bigint,
  boost_micros bigint,
  cost_micros bigint,
  started_at bigint,
  ended_at bigint,
  seq bigint,
  attempt integer,
  priority smallint,
  priority_class smallint,
  status smallint,
  run_id text,
  run_node text,
  executor text,
  type text,
  request_state text,
  worker text,
  payload_hash text,
  result_hash text,
  error_code text,
  error_message text,
  settings text,
  payload text,
  result text
);

CREATE INDEX audit_by_zone ON audit USING btree (zone, id);

CREATE INDEX idempotency_keys_by_task ON idempotency_keys USING btree (task_id);

CREATE UNIQUE INDEX inbox_by_key ON inbox USING btree (zone, agent, key) WHERE (key IS NOT NULL);

CREATE INDEX logs_by_time ON logs USING brin (at);

CREATE INDEX progress_by_agent ON progress USING btree (zone, agent, status, submitted_seq);

CREATE INDEX progress_by_end ON progress USING btree (ended_at) WHERE (ended_at >= 0);

CREATE INDEX progress_by_zone ON progress USING btree (zone, status, submitted_seq);

CREATE INDEX runs_by_agent ON runs USING btree (zone, agent, submitted_seq DESC, id DESC);

CREATE INDEX runs_by_end ON runs USING btree (ended_at) WHERE (ended_at >= 0);

CREATE INDEX runs_by_zone ON runs USING btree (zone, submitted_seq DESC, id DESC);

CREATE INDEX submissions_by_agent ON submissions USING btree (zone, agent, submitted_seq);

CREATE INDEX submissions_by_run ON submissions USING btree (run_id, submitted_seq DESC, id DESC) WHERE (run_id IS NOT NULL);

CREATE INDEX submissions_by_zone ON submissions USING btree (zone, submitted_seq);

CREATE INDEX webhook_deliveries_by_age ON webhook_deliveries USING btree (created_at);

CREATE INDEX webhook_deliveries_by_webhook ON webhook_deliveries USING btree (webhook_id, id DESC);

CREATE INDEX webhook_deliveries_due ON webhook_deliveries USING btree (webhook_id, next_at, id) WHERE (next_at >= 0);
