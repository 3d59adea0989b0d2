-- Part of a commit: how tasks went on alike of which nothing was written since they were submitted, so that there is
-- nothing to look up and no row to change. What they have in common is sent once, and texts are sent as one, with the
-- character 1 between them, and the character 2 for none.
-- Parameters: what they have in common ($1 to $7); ids ($8), workers ($9), agents ($10), starts ($11, an array), events
-- ($12, an array), places of the submissions in the ledger ($13, an array), hashes of results ($14), results ($15).
added_progress as (
  insert into progress (
    submitted_seq, seq, started_at, ended_at, cost_micros, attempt, status, id, zone, agent, worker,
    result_hash, error_code, error_message, result)
  select added.submitted_seq, added.seq, added.started_at, $3::bigint, $4::bigint, $2::integer, $1::smallint,
         added.id, $7::text, added.agent, added.worker, added.result_hash, $5::text, $6::text, added.result
    from (select unnest(string_to_array($8, chr(1))) as id,
                 unnest(string_to_array($9, chr(1))) as worker,
                 unnest(string_to_array($10, chr(1))) as agent,
                 unnest($11::bigint[]) as started_at,
                 unnest($12::bigint[]) as seq,
                 unnest($13::bigint[]) as submitted_seq,
                 unnest(string_to_array($14, chr(1))) as result_hash,
                 unnest(string_to_array($15, chr(1), chr(2))) as result
            from moved_head) added
)
