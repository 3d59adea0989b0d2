-- Part of a commit: tasks that ended with the result of another one, which ended in an earlier block. What was submitted in
-- this block cannot be looked up yet: whose it is comes along.
-- Parameters: one array per column, the ids of the others, and arrays of what was submitted in this block, else null.
chosen_progress as (
  insert into progress (
    submitted_seq, seq, started_at, ended_at, cost_micros, attempt, status, id, zone, agent, worker,
    result_hash, error_code, error_message, result)
  select coalesce(changed.submitted_seq, submissions.submitted_seq), changed.seq, changed.started_at, changed.ended_at, 0, changed.attempt,
         changed.status, changed.id, coalesce(changed.zone, submissions.zone),
         coalesce(changed.agent, submissions.agent), changed.worker, changed.result_hash, '', '', other.result
    from moved_head, unnest(
         $1::text[], $2::smallint[], $3::integer[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[],
         $8::text[], $9::text[], $10::text[], $11::text[], $12::bigint[])
         changed (id, status, attempt, worker, started_at, ended_at, seq, result_hash, other_id, zone, agent,
                  submitted_seq)
    left join submissions on submissions.id = changed.id
    left join progress other on other.id = changed.other_id
   where submissions.id is not null or changed.submitted_seq is not null
  on conflict (id) do update
     set seq = excluded.seq, started_at = excluded.started_at, ended_at = excluded.ended_at,
         cost_micros = excluded.cost_micros, attempt = excluded.attempt, status = excluded.status,
         worker = excluded.worker, result_hash = excluded.result_hash, error_code = excluded.error_code,
         error_message = excluded.error_message, result = excluded.result
)
