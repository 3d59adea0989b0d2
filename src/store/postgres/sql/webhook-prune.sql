-- Drop some of the deliveries that were made until a time.
with dropped as (
  delete from webhook_deliveries
   where id = any (array(select id from webhook_deliveries where created_at <= $1::bigint limit $2))
  returning id
)
select count(*) as count from dropped;
