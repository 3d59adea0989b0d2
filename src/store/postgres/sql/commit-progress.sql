-- Part of a commit: how tasks of earlier blocks went on. What many of them have in common is sent once for each kind.
-- Parameters: arrays of the kinds ($1 to $5), arrays of the tasks ($6 to $13).
changed_progress as (
  insert into progress (
    submitted_seq, seq, started_at, ended_at, cost_micros, attempt, status, id, zone, agent, worker,
    result_hash, error_code, error_message, result)
  select submissions.submitted_seq, changed.seq, changed.started_at, ($4::bigint[])[kind], changed.cost_micros,
         ($2::integer[])[kind], ($1::smallint[])[kind], id, submissions.zone, submissions.agent,
         ($3::text[])[kind], changed.result_hash, ($5::text[])[kind], changed.error_message, changed.result
    from moved_head, unnest(
         $6::integer[], $7::text[], $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::text[],
         $13::text[])
         changed (kind, id, started_at, cost_micros, seq, error_message, result_hash, result)
    join submissions using (id)
  on conflict (id) do update
     set seq = excluded.seq, started_at = excluded.started_at, ended_at = excluded.ended_at,
         cost_micros = excluded.cost_micros, attempt = excluded.attempt, status = excluded.status,
         worker = excluded.worker, result_hash = excluded.result_hash, error_code = excluded.error_code,
         error_message = excluded.error_message, result = excluded.result
)
