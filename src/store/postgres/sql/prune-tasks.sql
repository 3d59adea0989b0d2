-- Drop some of the tasks that ended until a time, with their keys and logs. Tasks of a run that is open are needed.
with dropped as (
  delete from progress
   where id = any (array(
           select id
             from progress
            where ended_at >= 0 and ended_at <= $1
              and not exists (select
                                from submissions
                                join runs on runs.id = submissions.run_id
                               where submissions.id = progress.id and runs.ended_at < 0)
            limit $2))
  returning id
), dropped_submissions as (
  delete from submissions where id = any (array(select id from dropped))
), dropped_usages as (
  delete from usages where id = any (array(select id from dropped))
), dropped_keys as (
  delete from idempotency_keys where task_id = any (array(select id from dropped))
), dropped_logs as (
  delete from logs where task_id = any (array(select id from dropped))
)
select count(*) as count from dropped;
