-- Submissions inside of other transactions: a row is there if and only if its transaction was committed, and the
-- leader takes it in. docs/decisions has why rows are polled for, and how each becomes one task.

create table inbox (
  number  bigint generated always as identity primary key,
  task_id text collate "C" not null,
  zone    text collate "C" not null,
  agent   text collate "C" not null,
  -- The idempotency key, where the submission has one.
  key     text collate "C",
  at      timestamptz not null default clock_timestamp(),
  bytes   integer not null,
  -- As POST /submit takes it.
  body    text not null,
  -- Why it cannot be taken in, ever; null: it waits.
  error   text
) with (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

create unique index inbox_by_key on inbox (zone, agent, key) where key is not null;

-- One line of text that can be shown and typed.
create function is_name(value jsonb) returns boolean
  language sql immutable
  as $$
    select jsonb_typeof(value) = 'string' and length(value #>> '{}') between 1 and 256
           and (value #>> '{}') !~ '[\u0001-\u001f\u007f-\u009f]'
  $$;

create function are_names(value jsonb) returns boolean
  language sql immutable
  as $$
    select case when jsonb_typeof(value) = 'array' and jsonb_array_length(value) <= 100
                then not exists (select from jsonb_array_elements(value) name where not is_name(name))
                else false end
  $$;

create function is_number(value jsonb, low numeric, high numeric) returns boolean
  language sql immutable
  as $$
    select case when jsonb_typeof(value) = 'number' then (value #>> '{}')::numeric between low and high
                else false end
  $$;

create function is_time(value jsonb) returns boolean
  language plpgsql stable
  as $$
    begin
      return jsonb_typeof(value) = 'string'
         and (value #>> '{}') ~ '^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$'
         and (value #>> '{}')::timestamptz >= '1970-01-01T00:00:00Z';
    exception when datetime_field_overflow or invalid_datetime_format then
      return false;
    end
  $$;

create function is_size(value jsonb) returns boolean
  language sql immutable
  as $$
    select case jsonb_typeof(value)
             when 'number' then (value #>> '{}') ~ '^\d{1,15}$'
             when 'string' then (value #>> '{}') ~ '^\d{1,15}(\.\d{1,15})? ?([kKMGT]B|[KMGT]iB|B)$'
             else false end
  $$;

-- What is wrong with one option, as the end of a sentence that begins with its name; null: nothing.
create function option_problem(field text, value jsonb) returns text
  language sql stable
  as $$
    select case
      when field in ('executor', 'zone', 'agent', 'idempotency_key') then
        case when not is_name(value) then 'must have 1 to 256 characters, none of them a control character' end
      when field in ('capabilities', 'limits') then
        case when not are_names(value) then 'must be a list of up to 100 names such as ["net"]' end
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
      else 'is unknown; known are agent, boost, capabilities, deadline, estimated_service_time, executor, '
           'idempotency_key, limits, max_attempts, priority, request_state, resources, retry_backoff, run_at, '
           'timeout and zone'
    end
  $$;

create function submission_problem(type text, payload jsonb, options jsonb) returns text
  language sql stable
  as $$
    select case
      when type is null or not is_name(to_jsonb(type))
        then 'type must have 1 to 256 characters, none of them a control character'
      when jsonb_typeof(payload) <> 'object' then 'payload must be a JSON object such as {"a": 1}'
      when octet_length(payload::text) > 1048576
        then 'payload must fit into 1 MiB of JSON; keep large data elsewhere and pass its name'
      when jsonb_typeof(options) <> 'object' then 'options must be a JSON object such as {"priority": "high"}'
      else (select format('options.%s %s; got %s', left(field, 100), option_problem(field, value),
                          left(value::text, 60))
              from jsonb_each(options) given (field, value)
             where option_problem(field, value) is not null
             order by field
             limit 1)
    end
  $$;

-- A UUID of version 7: ids that were made one after the other stand beside each other in indexes.
create function new_task_id() returns text
  language sql volatile
  as $$
    select encode(set_bit(set_bit(overlay(uuid_send(gen_random_uuid())
             placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
             from 1 for 6), 52, 1), 53, 1), 'hex')::uuid::text
  $$;

-- Submit a task in the transaction that is open: it exists if and only if that is committed. Returns the task's id.
-- The options are the fields of POST /submit, and agent and zone; null is as if it were not there. The same
-- idempotency key of the same agent means the same task.
create function submit(type text, payload jsonb default '{}', options jsonb default '{}') returns text
  language plpgsql volatile security definer
  as $$
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
  $$;

-- Its tables are found in this schema, whoever calls it: never among those that the caller can make.
do $$
  begin
    execute format('alter function submit(text, jsonb, jsonb) set search_path = %I, pg_temp', current_schema());
  end
$$;

-- Whoever may execute it may submit for every agent in every zone, so nobody may unless it is granted.
revoke all on function submit(text, jsonb, jsonb) from public;
