-- A zone or an agent that no header can carry would be one whose tasks nobody could ask for.
create function is_visible(value jsonb) returns boolean
  language sql immutable
  as $$ select is_name(value) and (value #>> '{}') ~ '^[\u0021-\u007e]+$' $$;

create function given_problem(field text, value jsonb) returns text
  language sql stable
  as $$
    select case
      when field in ('zone', 'agent') and not is_visible(value)
        then 'must have 1 to 256 visible ASCII characters and no spaces'
      else option_problem(field, value)
    end
  $$;

create or replace function submission_problem(type text, payload jsonb, options jsonb) returns text
  language sql stable
  as $$
    select case
      when type is null or not is_name(to_jsonb(type))
        then 'type must have 1 to 256 characters, none of them a control character'
      when jsonb_typeof(payload) <> 'object' then 'payload must be a JSON object such as {"a": 1}'
      when octet_length(payload::text) > 1048576
        then 'payload must fit into 1 MiB of JSON; keep large data elsewhere and pass its name'
      when jsonb_typeof(options) <> 'object' then 'options must be a JSON object such as {"priority": "high"}'
      else (select format('options.%s %s; got %s', left(field, 100), given_problem(field, value),
                          left(value::text, 60))
              from jsonb_each(options) given (field, value)
             where given_problem(field, value) is not null
             order by field
             limit 1)
    end
  $$;
