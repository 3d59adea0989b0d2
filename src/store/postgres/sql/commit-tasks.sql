-- Part of a commit: tasks that may be of a run, and may have gone on already. Parameters: one array per column.
added_tasks as (
  insert into tasks (
    id, zone, agent, submitted_seq, enqueued_at, run_at, deadline, estimate_ms, boost_micros,
    cost_micros, started_at, ended_at, seq, attempt, priority, priority_class, status, run_id, run_node,
    executor, type, request_state, worker, payload_hash, result_hash, error_code, error_message,
    settings, payload, result)
  select added.*
    from moved_head, unnest(
         $1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
         $8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[],
         $14::integer[], $15::smallint[], $16::smallint[], $17::smallint[], $18::text[], $19::text[],
         $20::text[], $21::text[], $22::text[], $23::text[], $24::text[], $25::text[], $26::text[],
         $27::text[], $28::text[], $29::text[], $30::text[]) added
)
