-- Part of a commit: how one task went on of which nothing was written since it was submitted.
-- Parameters: what commit-like-progress has for all of its tasks ($1 to $7), and what it has for each ($8 to $15).
added_progress as (
  insert into progress (
    submitted_seq, seq, started_at, ended_at, cost_micros, attempt, status, id, zone, agent, worker,
    result_hash, error_code, error_message, result)
  select $13::bigint, $12::bigint, $11::bigint, $3::bigint, $4::bigint, $2::integer, $1::smallint, $8::text,
         $7::text, $10::text, $9::text, $14::text, $5::text, $6::text, $15::text
    from moved_head
)
