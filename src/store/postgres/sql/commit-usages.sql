-- Part of a commit: what attempts consumed. Parameters: the ids, and for each two arrays of numbers as text.
kept_usages as (
  insert into usages (id, used, recharged)
  select added.id, added.used::bigint[], added.recharged::bigint[]
    from moved_head, unnest($1::text[], $2::text[], $3::text[]) added (id, used, recharged)
  on conflict (id) do update set used = excluded.used, recharged = excluded.recharged
)
