-- Say that a server is there, by the clock of the database, which is the same for all of them. Those that have not
-- been heard of for a day are forgotten.
with forgotten as (
  delete from members where seen_at < clock_timestamp() - interval '1 day' and name <> $1
)
insert into members (name, url, role, seq, seen_at)
values ($1, $2, $3, $4, clock_timestamp())
on conflict (name) do update
   set url = excluded.url, role = excluded.role, seq = excluded.seq, seen_at = excluded.seen_at;
