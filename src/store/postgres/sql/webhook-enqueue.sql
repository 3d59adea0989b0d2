-- Move the cursor and add deliveries, both or nothing: who finds another cursor than the one that it knows adds
-- nothing, because the rest joins moved_cursor.
with moved_cursor as (
  update webhook_cursor set value = $2 where value = $1 returning value
), added as (
  insert into webhook_deliveries (id, webhook_id, type, subject, body, created_at, next_at)
  select new.*, new.created_at
    from moved_cursor, unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::bigint[])
         new (id, webhook_id, type, subject, body, created_at)
)
select value from moved_cursor;
