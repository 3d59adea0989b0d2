-- Drop some of the lines that were written until a time.
with dropped as (
  delete from logs where ctid = any (array(select ctid from logs where at <= $1 limit $2))
  returning 1
)
select count(*) as count from dropped;
