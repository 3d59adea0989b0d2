-- As find-tasks.sql, for statuses of which each task has progress: of each status the next $6 are looked at, as far
-- as that is complete for all of them.
with looked as materialized (
  select found.*
    from unnest($7::smallint[]) asked (status)
   cross join lateral (
         select id, submitted_seq, status, started_at, ended_at
           from progress
          where zone = $1 and status = asked.status
            and ($2::text is null or agent = $2)
            and ($4::bigint is null or (submitted_seq, id) < ($4, $5::text))
          order by submitted_seq desc, id desc
          limit $6) found
), edge as (
  select submitted_seq, id
    from (select distinct on (status) submitted_seq, id, count(*) over (partition by status) as looked_at
            from looked
           order by status, submitted_seq, id) ends
   where looked_at = $6
   order by submitted_seq desc, id desc
   limit 1
), fitting as materialized (
  select id, looked.submitted_seq
    from looked
    join submissions using (id)
   where (not exists (select from edge) or (looked.submitted_seq, id) >= (select submitted_seq, id from edge))
     and ($3::text is null or run_id = $3)
     and ($8::text is null or executor = $8)
     and ($9::text is null or type = $9)
     and ($10::smallint is null or priority_class = $10)
     and case when started_at >= 0 then started_at
              when ended_at >= 0 then ended_at
              else $13::bigint end - greatest(enqueued_at, run_at)
         between coalesce($11::bigint, -1e15) and coalesce($12::bigint, 1e15)
), page as (
  select id, submitted_seq from fitting order by submitted_seq desc, id desc limit $14
)
select bound.*, tasks.id, zone, agent, tasks.submitted_seq, enqueued_at, run_at, deadline, estimate_ms, boost_micros,
       cost_micros, started_at, ended_at, seq, attempt, priority, priority_class, status, run_id,
       run_node, executor, type, request_state, worker, payload_hash, result_hash, error_code,
       error_message
  from (select (select count(*) from fitting) as fitting_count,
               exists (select from edge) as goes_on,
               (select submitted_seq from edge) as edge_seq,
               (select id from edge) as edge_id) bound
  left join (page join tasks using (id, submitted_seq)) on true
 order by tasks.submitted_seq desc, tasks.id desc;
