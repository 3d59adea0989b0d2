-- Claim the first $2 in the order of next-by-hrrn.sql at $1 that nobody else is claiming, for the worker $4, without
-- reading all that waits: they are looked for among the first $3. What has been claimed is stepped over.
--
-- Within a bucket of nearly equal estimates, index order is nearly the order wanted. So: find the buckets by hopping
-- through the index; take the first $3 of each; the best $3 of these give each class a ratio to reach; what stands
-- deeper in a bucket reaches it only if it would with the bucket's smallest estimate, and that is again a range of
-- the index. All others are worse than $3 that are known.
--
-- SKIP LOCKED passes over what another is claiming, and what another has just claimed has progress already.
-- `seen` is less than $3 when nothing else waits; `late` are those that another had claimed since this looked.
with recursive buckets as (
  (select priority_class, estimate_bucket(estimate_ms) as bucket
     from submissions
    where run_id is null
    order by priority_class, estimate_bucket(estimate_ms)
    limit 1)
  union all
  select next.priority_class, next.bucket
    from buckets
   cross join lateral (
         select priority_class, estimate_bucket(estimate_ms) as bucket
           from submissions
          where run_id is null
            and (priority_class, estimate_bucket(estimate_ms)) > (buckets.priority_class, buckets.bucket)
          order by priority_class, estimate_bucket(estimate_ms)
          limit 1) next
), heads as materialized (
  select buckets.priority_class, head.id, head.ready_at, head.estimate_ms
    from buckets
   cross join lateral (
         select id, greatest(enqueued_at, run_at) as ready_at, estimate_ms
           from submissions
          where run_id is null
            and priority_class = buckets.priority_class and estimate_bucket(estimate_ms) = buckets.bucket
            and greatest(enqueued_at, run_at) <= $1::bigint
            and not exists (select from progress where progress.id = submissions.id and progress.status <> 0)
          order by greatest(enqueued_at, run_at), id
          limit $3) head
), cuts as materialized (
  select priority_class, ready_at, estimate_ms
    from (select priority_class, ready_at, estimate_ms,
                 row_number() over (
                   partition by priority_class
                   order by div(($1::bigint - ready_at + estimate_ms) * 1e40::numeric, estimate_ms) desc) as place
            from heads) ranked
   where place = $3
), depths as materialized (
  select priority_class, buckets.bucket,
         $1::bigint - least(div(($1::bigint - cuts.ready_at)::numeric * buckets.bucket, cuts.estimate_ms),
                            $1::bigint)::bigint as ready_until
    from buckets
    join cuts using (priority_class)
), candidates as (
  select priority_class, id, ready_at, estimate_ms from heads
  union
  select depths.priority_class, deeper.id, deeper.ready_at, deeper.estimate_ms
    from depths
   cross join lateral (
         select id, greatest(enqueued_at, run_at) as ready_at, estimate_ms
           from submissions
          where run_id is null
            and priority_class = depths.priority_class and estimate_bucket(estimate_ms) = depths.bucket
            and greatest(enqueued_at, run_at) <= depths.ready_until
            and not exists (select from progress where progress.id = submissions.id and progress.status <> 0)
         -- Kept apart from the join around it, or the range becomes a filter over the whole bucket.
         offset 0) deeper
), first_ones as materialized (
  select id, row_number() over (
           order by priority_class,
                    div(($1::bigint - ready_at + estimate_ms) * 1e40::numeric, estimate_ms) desc,
                    ready_at, id) as place
    from candidates
   order by place
   limit $3
), locked as materialized (
  select id, place, zone, agent, submitted_seq
    from first_ones
    join submissions using (id)
   order by place
   limit $2
     for update of submissions skip locked
), claimed as (
  insert into progress (
    submitted_seq, seq, started_at, ended_at, cost_micros, attempt, status, id, zone, agent, worker,
    result_hash, error_code, error_message)
  select submitted_seq, submitted_seq, -1, -1, 0, 0, 1, id, zone, agent, $4, '', '', '' from locked
  on conflict (id) do update
     set status = excluded.status, worker = excluded.worker
   where progress.status = 0
  returning id
)
select array(select id from locked join claimed using (id) order by place) as ids,
       (select count(*) from first_ones) as seen,
       (select count(*) from locked) - (select count(*) from claimed) as late;
