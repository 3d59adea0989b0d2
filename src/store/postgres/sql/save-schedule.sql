-- Add a recurring task, or replace the one with the same id.
insert into schedules (id, zone, agent, name, cron, time_zone, task, catch_up, catch_up_limit, overlap, start_at,
                       end_at, paused, created_at, seen_to, last_fired_at, last_task_id, last_error, key_id)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
    on conflict (id) do update
   set paused = excluded.paused, seen_to = excluded.seen_to, last_fired_at = excluded.last_fired_at,
       last_task_id = excluded.last_task_id, last_error = excluded.last_error;
