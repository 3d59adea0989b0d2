-- The servers, and how long ago each was heard of.
select name, url, role, seq,
       greatest(0, extract(epoch from clock_timestamp() - seen_at) * 1000)::bigint as seen_ms_ago
  from members
 order by name;
