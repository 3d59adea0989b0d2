-- When the next of some webhooks is due after a time.
select min(first.next_at) as next_at
  from unnest($1::text[]) asked (webhook_id)
 cross join lateral (
       select next_at
         from webhook_deliveries
        where webhook_deliveries.webhook_id = asked.webhook_id and next_at >= 0 and next_at > $2::bigint
        order by next_at
        limit 1) first;
