-- The index that claim-by-hrrn.sql hops through.
create index if not exists tasks_waiting
    on tasks (priority_class, estimate_bucket(estimate_ms), greatest(enqueued_at, run_at), id)
 where status = 0 and run_id is null;
