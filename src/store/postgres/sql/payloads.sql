-- The payloads of tasks, with the settings of those that belong to a trace.
select id, payload, case when settings like '%"traceparent":%' then settings end as traced
  from submissions
 where id = any ($1::text[]);
