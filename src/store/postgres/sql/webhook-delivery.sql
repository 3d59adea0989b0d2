-- One delivery.
select id, webhook_id, type, subject, body, created_at, status, tries, next_at, tried_at, answered, error
  from webhook_deliveries
 where id = $1;
