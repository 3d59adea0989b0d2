-- Of the next $6 tasks of a zone, newest first: how many fit, the first $14 of those, and how far was looked.
-- However few fit among however many, it takes no longer than that. What is null is not asked for.
with looked as materialized (
  select id, submitted_seq, executor, type, priority_class, greatest(enqueued_at, run_at) as ready_at
    from submissions
   where zone = $1
     and ($2::text is null or agent = $2)
     and ($3::text is null or run_id = $3)
     and ($4::bigint is null or (submitted_seq, id) < ($4, $5::text))
   order by submitted_seq desc, id desc
   limit $6
), fitting as materialized (
  select looked.id, looked.submitted_seq
    from looked
    left join progress using (id)
   where ($7::smallint[] is null or coalesce(progress.status, 0) = any ($7))
     and ($8::text is null or executor = $8)
     and ($9::text is null or type = $9)
     and ($10::smallint is null or priority_class = $10)
     and case when progress.started_at >= 0 then progress.started_at
              when progress.ended_at >= 0 then progress.ended_at
              else $13::bigint end - ready_at between coalesce($11::bigint, -1e15) and coalesce($12::bigint, 1e15)
), page as (
  select id, submitted_seq from fitting order by submitted_seq desc, id desc limit $14
), edge as (
  select submitted_seq, id from looked order by submitted_seq, id limit 1
)
select bound.*, tasks.id, zone, agent, tasks.submitted_seq, enqueued_at, run_at, deadline, estimate_ms, boost_micros,
       cost_micros, started_at, ended_at, seq, attempt, priority, priority_class, status, run_id,
       run_node, executor, type, request_state, worker, payload_hash, result_hash, error_code,
       error_message
  from (select (select count(*) from fitting) as fitting_count,
               (select count(*) from looked) = $6 as goes_on,
               (select submitted_seq from edge) as edge_seq,
               (select id from edge) as edge_id) bound
  left join (page join tasks using (id, submitted_seq)) on true
 order by tasks.submitted_seq desc, tasks.id desc;
