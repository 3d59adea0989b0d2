-- What is due: of each webhook as many as there is room for, without those under way.
select due.*
  from unnest($1::text[], $2::integer[]) asked (webhook_id, room)
 cross join lateral (
       select id, webhook_id, type, subject, body, created_at, status, tries, next_at, tried_at, answered, error
         from webhook_deliveries
        where webhook_deliveries.webhook_id = asked.webhook_id
          and next_at >= 0 and next_at <= $3::bigint and not id = any ($4::text[])
        order by next_at, id
        limit asked.room) due;
