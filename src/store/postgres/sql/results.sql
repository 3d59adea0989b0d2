-- The results of tasks that have one.
select id, result
  from progress
 where id = any ($1::text[])
   and result is not null;
