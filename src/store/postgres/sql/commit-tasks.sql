-- Part of a commit: tasks that may belong to a run. Parameters: one array per column.
added_tasks as (
  insert into submissions (
    id, zone, agent, submitted_seq, enqueued_at, run_at, deadline, estimate_ms, boost_micros, priority,
    priority_class, run_id, run_node, executor, type, request_state, payload_hash, settings, payload)
  select added.*
    from moved_head, unnest(
         $1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
         $8::bigint[], $9::bigint[], $10::smallint[], $11::smallint[], $12::text[], $13::text[],
         $14::text[], $15::text[], $16::text[], $17::text[], $18::text[], $19::text[]) added
)
