-- Drop all but the newest.
delete from audit
 where id <= (select id from audit order by id desc offset $1 limit 1);
