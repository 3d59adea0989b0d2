-- Add lines to logs. A line that is there already was sent twice.
insert into logs (task_id, line, attempt, at, stream, text)
select *
  from unnest($1::text[], $2::bigint[], $3::integer[], $4::bigint[], $5::text[], $6::text[])
    on conflict (task_id, line) do nothing;
