-- All recurring tasks; there are few.
select id, zone, agent, name, cron, time_zone, task, catch_up, catch_up_limit, overlap, start_at, end_at, paused,
       created_at, seen_to, last_fired_at, last_task_id, last_error, key_id
  from schedules
 order by created_at, id;
