-- Drop some of the keys whose tasks ended until a time.
with dropped as (
  delete from idempotency_keys
   where task_id = any (array(
           select k.task_id
             from idempotency_keys k
             join tasks t on t.id = k.task_id
            where t.ended_at >= 0 and t.ended_at <= $1
            limit $2))
  returning 1
)
select count(*) as count from dropped;
