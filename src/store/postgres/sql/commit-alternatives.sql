-- Part of a commit: tasks that ask for the same as another of an earlier block. Parameters: one array per column, and the
-- ids of the others.
added_alternatives as (
  insert into submissions (
    id, zone, agent, submitted_seq, enqueued_at, run_at, deadline, estimate_ms, boost_micros, priority,
    priority_class, run_id, run_node, executor, type, request_state, payload_hash, settings, payload)
  select added.id, added.zone, added.agent, added.submitted_seq, added.enqueued_at, -1, -1, added.estimate_ms, 0,
         added.priority, added.priority_class, added.run_id, added.run_node, added.executor, added.type,
         added.request_state, added.payload_hash, other.settings, other.payload
    from moved_head, unnest(
         $1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::smallint[],
         $8::smallint[], $9::text[], $10::text[], $11::text[], $12::text[], $13::text[], $14::text[], $15::text[])
         added (id, zone, agent, submitted_seq, enqueued_at, estimate_ms, priority, priority_class, run_id,
                run_node, executor, type, request_state, payload_hash, other_id)
    join submissions other on other.id = added.other_id
)
