-- Part of a commit: tasks that ask for the same as another of an earlier block. Parameters: one array per column, and the
-- ids of the others.
added_alternatives as (
  insert into submissions (
    id, zone, agent, submitted_seq, enqueued_at, run_at, deadline, estimate_ms, boost_micros, priority,
    priority_class, run_id, run_node, executor, type, request_state, payload_hash, settings, payload)
  select added.id, added.zone, added.agent, added.submitted_seq, added.enqueued_at, added.run_at, added.deadline,
         added.estimate_ms, added.boost_micros, added.priority, added.priority_class, added.run_id, added.run_node,
         added.executor, added.type, added.request_state, added.payload_hash, other.settings, other.payload
    from moved_head, unnest(
         $1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[],
         $8::bigint[], $9::bigint[], $10::smallint[], $11::smallint[], $12::text[], $13::text[],
         $14::text[], $15::text[], $16::text[], $17::text[], $18::text[])
         added (id, zone, agent, submitted_seq, enqueued_at, run_at, deadline, estimate_ms, boost_micros, priority,
                priority_class, run_id, run_node, executor, type, request_state, payload_hash, other_id)
    join submissions other on other.id = added.other_id
)
