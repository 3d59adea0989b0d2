-- A page of tasks of some statuses out of some that are known, newest first, without what may be large.
-- What is null is not asked for.
select id, zone, agent, submitted_seq, enqueued_at, run_at, deadline, estimate_ms, boost_micros,
       cost_micros, started_at, ended_at, seq, attempt, priority, priority_class, status, run_id,
       run_node, executor, type, request_state, worker, payload_hash, result_hash, error_code,
       error_message
  from tasks
 where id = any ($10::text[]) and zone = $1 and status = any ($3::smallint[])
   and ($2::text is null or agent = $2)
   and ($4::text is null or executor = $4)
   and ($5::text is null or type = $5)
   and ($6::text is null or run_id = $6)
   and ($7::bigint is null or (submitted_seq, id) < ($7, $8::text))
 order by submitted_seq desc, id desc
 limit $9;
