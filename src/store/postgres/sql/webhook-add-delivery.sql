-- Add one delivery; one that is there already was sent twice.
insert into webhook_deliveries (id, webhook_id, type, subject, body, created_at, next_at)
values ($1, $2, $3, $4, $5, $6::bigint, $6::bigint)
    on conflict (id) do nothing;
