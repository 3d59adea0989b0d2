-- Part of a commit: tasks of their own. What many of them have in common is sent once for each kind of task.
-- Parameters: arrays of the kinds ($1 to $9), arrays of the tasks ($10 to $18).
added_new_tasks as (
  insert into submissions (
    id, zone, agent, submitted_seq, enqueued_at, run_at, deadline, estimate_ms, boost_micros, priority,
    priority_class, executor, type, request_state, payload_hash, settings, payload)
  select added.id, ($2::text[])[kind], added.agent, added.submitted_seq, ($1::bigint[])[kind], added.run_at,
         added.deadline, added.estimate_ms, ($3::bigint[])[kind], ($4::smallint[])[kind], ($5::smallint[])[kind],
         ($6::text[])[kind], ($7::text[])[kind], ($8::text[])[kind], added.payload_hash, ($9::text[])[kind],
         added.payload
    from moved_head, unnest(
         $10::integer[], $11::text[], $12::text[], $13::bigint[], $14::bigint[], $15::bigint[],
         $16::bigint[], $17::text[], $18::text[])
         added (kind, id, agent, submitted_seq, run_at, deadline, estimate_ms, payload_hash, payload)
)
