-- Drop some of the runs that ended until a time.
with dropped as (
  delete from runs
   where id = any (array(select id from runs where ended_at >= 0 and ended_at <= $1 limit $2))
  returning id
)
select count(*) as count from dropped;
