-- The newest open tasks that belong to a trace. The condition is that of their index.
select id, settings
  from tasks
 where ended_at < 0 and settings like '%"traceparent":%'
 order by submitted_seq desc
 limit $1;
