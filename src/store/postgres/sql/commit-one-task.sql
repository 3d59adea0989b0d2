-- Part of a commit: one task of its own, which most commits of a service that is not busy bring.
-- Parameters: what commit-like-tasks has for all of its tasks ($1 to $11), and what it has for each ($12 to $17).
added_one_task as (
  insert into submissions (
    id, zone, agent, submitted_seq, enqueued_at, run_at, deadline, estimate_ms, boost_micros, priority,
    priority_class, executor, type, request_state, payload_hash, settings, payload)
  select $12::text, $2::text, $13::text, $14::bigint, $1::bigint, $3::bigint, $4::bigint, $15::bigint, $5::bigint,
         $6::smallint, $7::smallint, $8::text, $9::text, $10::text, $16::text, $11::text, $17::text
    from moved_head
)
