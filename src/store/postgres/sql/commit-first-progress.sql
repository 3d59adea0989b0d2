-- Part of a commit: how tasks went on of which nothing was written since they were submitted, so that there is nothing to
-- look up and no row to change. What many of them have in common is sent once for each kind.
-- Parameters: arrays of the kinds ($1 to $6), arrays of the tasks ($7 to $16).
added_progress as (
  insert into progress (
    submitted_seq, seq, started_at, ended_at, cost_micros, attempt, status, id, zone, agent, worker,
    result_hash, error_code, error_message, result)
  select added.submitted_seq, added.seq, added.started_at, ($4::bigint[])[kind], added.cost_micros,
         ($2::integer[])[kind], ($1::smallint[])[kind], added.id, ($6::text[])[kind], added.agent,
         ($3::text[])[kind], added.result_hash, ($5::text[])[kind], added.error_message, added.result
    from moved_head, unnest(
         $7::integer[], $8::text[], $9::bigint[], $10::bigint[], $11::bigint[], $12::text[], $13::text[],
         $14::text[], $15::bigint[], $16::text[])
         added (kind, id, started_at, cost_micros, seq, error_message, result_hash, result, submitted_seq, agent)
)
