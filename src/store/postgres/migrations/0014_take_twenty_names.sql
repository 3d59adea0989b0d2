-- A task may name 20 capabilities and 20 limits: each of its names takes memory in the scheduler while it waits.
create or replace function are_names(value jsonb) returns boolean
  language sql immutable
  as $$
    select case when jsonb_typeof(value) = 'array' and jsonb_array_length(value) <= 20
                then not exists (select from jsonb_array_elements(value) name where not is_name(name))
                else false end
  $$;

create or replace function are_amounts(value jsonb) returns boolean
  language sql immutable
  as $$
    select case when jsonb_typeof(value) = 'object'
                then (select count(*) <= 20 and coalesce(bool_and(is_name(to_jsonb(name)) and is_amount(amount)), true)
                        from jsonb_each(value) counted (name, amount))
                else false end
  $$;

create or replace function option_problem(field text, value jsonb) returns text
  language sql stable
  as $$
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
  $$;
