-- Lines of a task's log after a number, oldest first.
select task_id, line, attempt, at, stream, text
  from logs
 where task_id = $1 and line > $2
 order by line
 limit $3;
