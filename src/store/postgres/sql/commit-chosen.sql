-- Part of a commit: tasks of earlier blocks that ended with the result of another one, which ended in an earlier block.
-- Parameters: one array per column, and the ids of the others.
chosen_progress as (
  insert into progress (
    submitted_seq, seq, started_at, ended_at, cost_micros, attempt, status, id, zone, agent, worker,
    result_hash, error_code, error_message, result)
  select submissions.submitted_seq, changed.seq, changed.started_at, changed.ended_at, 0, changed.attempt,
         changed.status, changed.id, submissions.zone, submissions.agent, changed.worker, changed.result_hash, '', '',
         other.result
    from moved_head, unnest(
         $1::text[], $2::smallint[], $3::integer[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],
         $8::text[], $9::text[])
         changed (id, status, attempt, worker, started_at, ended_at, seq, result_hash, other_id)
    join submissions using (id)
    left join progress other on other.id = changed.other_id
  on conflict (id) do update
     set seq = excluded.seq, started_at = excluded.started_at, ended_at = excluded.ended_at,
         cost_micros = excluded.cost_micros, attempt = excluded.attempt, status = excluded.status,
         worker = excluded.worker, result_hash = excluded.result_hash, error_code = excluded.error_code,
         error_message = excluded.error_message, result = excluded.result
)
