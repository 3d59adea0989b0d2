-- Tasks of some zones that ended after an event and id, in order; results that are larger than $5 are left out.
-- Time never runs backwards in the ledger, so the order of ends is that of their events, and has an index.
select id, progress.zone, progress.agent, progress.submitted_seq, enqueued_at, run_at, deadline, estimate_ms,
       boost_micros, cost_micros, started_at, ended_at, seq, attempt, priority, priority_class, status, run_id,
       run_node, executor, type, request_state, worker, payload_hash, result_hash, error_code,
       error_message, coalesce(octet_length(result), 0) as result_bytes,
       case when octet_length(result) <= $5::bigint then result end as result
  from progress
  join submissions using (id)
 where ended_at >= greatest($1::bigint, 0) and (seq, id) > ($2::bigint, $3::text)
   and progress.zone = any ($4::text[])
 order by ended_at, seq, id
 limit $6;
