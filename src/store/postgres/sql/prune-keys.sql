-- Drop some of the keys whose tasks ended until a time. Each key looks at its task: there are far fewer keys than tasks
-- that ended long ago, which are what a join might begin with.
with dropped as (
  delete from idempotency_keys
   where task_id = any (array(
           select task_id
             from idempotency_keys
            where (select ended_at from progress where progress.id = idempotency_keys.task_id) between 0 and $1::bigint
            limit $2))
  returning 1
)
select count(*) as count from dropped;
