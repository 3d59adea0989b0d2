-- How far deliveries have come.
update webhook_deliveries
   set status = changed.status, tries = changed.tries, next_at = changed.next_at, tried_at = changed.tried_at,
       answered = changed.answered, error = changed.error
  from unnest($1::text[], $2::smallint[], $3::integer[], $4::bigint[], $5::bigint[], $6::integer[], $7::text[])
       changed (id, status, tries, next_at, tried_at, answered, error)
 where webhook_deliveries.id = changed.id;
