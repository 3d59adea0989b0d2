-- Part of a commit: tasks of their own that differ in nothing but what is mostly a task's own. What they have in common is
-- sent once, and texts are sent as one, with the character 1 between them.
-- Parameters: what they have in common ($1 to $11); ids ($12), agents ($13), places in the ledger ($14, an array),
-- estimates ($15, an array), hashes of payloads ($16), payloads ($17).
added_like_tasks as (
  insert into submissions (
    id, zone, agent, submitted_seq, enqueued_at, run_at, deadline, estimate_ms, boost_micros, priority,
    priority_class, executor, type, request_state, payload_hash, settings, payload)
  select added.id, $2::text, added.agent, added.submitted_seq, $1::bigint, $3::bigint, $4::bigint, added.estimate_ms,
         $5::bigint, $6::smallint, $7::smallint, $8::text, $9::text, $10::text, added.payload_hash, $11::text,
         added.payload
    from (select unnest(string_to_array($12, chr(1))) as id,
                 unnest(string_to_array($13, chr(1))) as agent,
                 unnest($14::bigint[]) as submitted_seq,
                 unnest($15::bigint[]) as estimate_ms,
                 unnest(string_to_array($16, chr(1))) as payload_hash,
                 unnest(string_to_array($17, chr(1))) as payload
            from moved_head) added
)
