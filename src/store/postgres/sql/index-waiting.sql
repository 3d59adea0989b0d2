-- The index that claim-by-hrrn.sql hops through.
create index if not exists submissions_waiting
    on submissions (priority_class, estimate_bucket(estimate_ms), greatest(enqueued_at, run_at), id)
 where run_id is null;
