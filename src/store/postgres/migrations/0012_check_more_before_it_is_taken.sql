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

-- A number that would come back as another one once JavaScript has read it. Found out here, the transaction can still be told.
-- A double is compared by its shortest text: as numeric it has 15 digits.
create function payload_problem(payload jsonb) returns text
  language sql immutable
  set extra_float_digits = 1
  as $$
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
      when payload_problem(payload) is not null then payload_problem(payload)
      when jsonb_typeof(options) <> 'object' then 'options must be a JSON object such as {"priority": "high"}'
      else (select format('options.%s %s; got %s', left(field, 100), given_problem(field, value),
                          left(value::text, 60))
              from jsonb_each(options) given (field, value)
             where given_problem(field, value) is not null
             order by field
             limit 1)
    end
  $$;
