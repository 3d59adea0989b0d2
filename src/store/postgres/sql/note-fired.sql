-- Note what came of a recurring task's time. One that is gone stays gone, and a server that is late takes nothing back.
update schedules
   set seen_to = $2, last_fired_at = $3, last_task_id = $4, last_error = $5
 where id = $1 and seen_to <= $2;
