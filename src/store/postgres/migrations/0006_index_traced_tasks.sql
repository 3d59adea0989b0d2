-- The few open tasks that belong to a trace, so that whoever leads next finds them without looking at all others.
create index tasks_traced on tasks (submitted_seq desc)
  where ended_at < 0 and settings like '%"traceparent":%';
