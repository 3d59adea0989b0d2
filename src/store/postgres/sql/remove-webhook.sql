-- Drop a webhook with its deliveries.
with dropped as (
  delete from webhook_deliveries where webhook_id = $1
)
delete from webhooks where id = $1;
