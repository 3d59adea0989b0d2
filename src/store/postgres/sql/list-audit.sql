-- What was done in some zones, newest first, before a place.
select id, at, zone, key_id, agent, action, target, before, detail, seq
  from audit
 where zone = any ($1::text[]) and ($2::text is null or id < $2)
 order by id desc
 limit $3;
