-- Drop a recurring task.
delete from schedules where id = $1;
