-- One task, whole.
select id, zone, agent, submitted_seq, enqueued_at, run_at, deadline, estimate_ms, boost_micros,
       cost_micros, started_at, ended_at, seq, attempt, priority, priority_class, status, run_id,
       run_node, executor, type, request_state, worker, payload_hash, result_hash, error_code,
       error_message, settings, payload, result,
       (select used from usages where usages.id = tasks.id) as used,
       (select recharged from usages where usages.id = tasks.id) as recharged
  from tasks
 where id = $1;
