-- Drop some of the tasks that ended until a time, with their keys and logs. Tasks of a run that is open are needed.
with dropped as (
  delete from tasks
   where id = any (array(
           select id
             from tasks
            where ended_at >= 0 and ended_at <= $1
              and not exists (select from runs where runs.id = tasks.run_id and runs.ended_at < 0)
            limit $2))
  returning id
), dropped_keys as (
  delete from idempotency_keys where task_id = any (array(select id from dropped))
), dropped_logs as (
  delete from logs where task_id = any (array(select id from dropped))
)
select count(*) as count from dropped;
