-- A page of tasks of any status, newest first, without what may be large. What is null is not asked for.
select id, zone, agent, submitted_seq, enqueued_at, run_at, deadline, estimate_ms, boost_micros,
       cost_micros, started_at, ended_at, seq, attempt, priority, priority_class, status, run_id,
       run_node, executor, type, request_state, worker, payload_hash, result_hash, error_code,
       error_message
  from tasks
 where zone = $1
   and ($2::text is null or agent = $2)
   and ($3::text is null or executor = $3)
   and ($4::text is null or type = $4)
   and ($5::text is null or run_id = $5)
   and ($6::bigint is null or (submitted_seq, id) < ($6, $7::text))
 order by submitted_seq desc, id desc
 limit $8;
