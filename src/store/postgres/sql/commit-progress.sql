-- Part of a commit: how tasks of earlier blocks went on. What many of them have in common is sent once for each kind.
-- Parameters: arrays of the kinds ($1 to $5), arrays of the tasks ($6 to $13).
progressed_tasks as (
  update tasks
     set status = ($1::smallint[])[kind], attempt = ($2::integer[])[kind], worker = ($3::text[])[kind],
         ended_at = ($4::bigint[])[kind], error_code = ($5::text[])[kind], started_at = changed.started_at,
         cost_micros = changed.cost_micros, seq = changed.seq, error_message = changed.error_message,
         result_hash = changed.result_hash, result = changed.result
    from moved_head, unnest(
         $6::integer[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::text[],
         $13::text[])
         changed (kind, id, started_at, cost_micros, seq, error_message, result_hash, result)
   where tasks.id = changed.id
)
