-- A page of a webhook's deliveries, newest first.
select id, webhook_id, type, subject, body, created_at, status, tries, next_at, tried_at, answered, error
  from webhook_deliveries
 where webhook_id = $1 and ($2::text is null or id < $2)
 order by id desc
 limit $3;
