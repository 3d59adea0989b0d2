-- A page of tasks, newest first, without what may be large: the newest of each status that is asked for, merged.
-- What is null is not asked for. The plan is made for the values of each call, so that it knows which those are.
select page.*
  from unnest($3::smallint[]) asked (status)
 cross join lateral (
       select id, zone, agent, submitted_seq, enqueued_at, run_at, deadline, estimate_ms, boost_micros,
              cost_micros, started_at, ended_at, seq, attempt, priority, priority_class, status, run_id,
              run_node, executor, type, request_state, worker, payload_hash, result_hash, error_code,
              error_message
         from tasks
        where zone = $1 and tasks.status = asked.status
          and ($2::text is null or agent = $2)
          and ($4::text is null or executor = $4)
          and ($5::text is null or type = $5)
          and ($6::text is null or run_id = $6)
          and ($7::bigint is null or (submitted_seq, id) < ($7, $8::text))
        order by submitted_seq desc, id desc
        limit $9) page
 order by submitted_seq desc, id desc
 limit $9;
