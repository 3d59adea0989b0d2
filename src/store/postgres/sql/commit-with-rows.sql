-- Commit a block with its rows: all of it in one statement and one round trip, or nothing.
-- The head is compared and swapped: whoever finds another head than the one that the block builds on changes
-- nothing, because every other part joins moved_head. Who comes second waits for the row, then sees the new head.
-- While somebody leads, only blocks of its epoch are taken.
-- Parameters: the head before ($1 hash, $2 seq), the block ($3 epoch, $4 last seq, $5 hash, $6 count, $7 now,
-- $8 line), then one array per column.
with moved_head as (
  update head
     set epoch = $3, seq = $4, hash = $5
   where hash = $1 and seq = $2::bigint
     and (epoch = $3::bigint or (holder = '' and epoch < $3::bigint))
  returning seq
), added_block as (
  insert into blocks (seq, count, epoch, now, prev, hash, line)
  select $2 + 1, $6::integer, $3, $7::bigint, $1, $5, $8::text from moved_head
), added_tasks as (
  insert into tasks (
    id, zone, agent, submitted_seq, enqueued_at, run_at, deadline, estimate_ms, boost_micros,
    cost_micros, started_at, ended_at, seq, attempt, priority, priority_class, status, run_id, run_node,
    executor, type, request_state, worker, payload_hash, result_hash, error_code, error_message,
    settings, payload, result)
  select added.*
    from moved_head, unnest(
         $9::text[], $10::text[], $11::text[], $12::bigint[], $13::bigint[], $14::bigint[],
         $15::bigint[], $16::bigint[], $17::bigint[], $18::bigint[], $19::bigint[], $20::bigint[],
         $21::bigint[], $22::integer[], $23::smallint[], $24::smallint[], $25::smallint[], $26::text[],
         $27::text[], $28::text[], $29::text[], $30::text[], $31::text[], $32::text[], $33::text[],
         $34::text[], $35::text[], $36::text[], $37::text[], $38::text[]) added
), progressed_tasks as (
  update tasks
     set status = changed.status, attempt = changed.attempt, worker = changed.worker,
         started_at = changed.started_at, ended_at = changed.ended_at, result = changed.result,
         result_hash = changed.result_hash, error_code = changed.error_code,
         error_message = changed.error_message, cost_micros = changed.cost_micros, seq = changed.seq
    from moved_head, unnest(
         $39::text[], $40::smallint[], $41::integer[], $42::text[], $43::bigint[], $44::bigint[],
         $45::text[], $46::text[], $47::text[], $48::text[], $49::bigint[], $50::bigint[])
         changed (
         id, status, attempt, worker, started_at, ended_at, result, result_hash, error_code,
         error_message, cost_micros, seq)
   where tasks.id = changed.id
), added_keys as (
  insert into idempotency_keys (zone, agent, key, task_id, body_hash)
  select added.*
    from moved_head, unnest(
         $51::text[], $52::text[], $53::text[], $54::text[], $55::text[]) added
), added_runs as (
  insert into runs (id, zone, agent, name, nodes, submitted_at, submitted_seq, outcome, ended_at)
  select added.*
    from moved_head, unnest(
         $56::text[], $57::text[], $58::text[], $59::text[], $60::integer[], $61::bigint[],
         $62::bigint[], $63::text[], $64::bigint[]) added
), ended_runs as (
  update runs
     set outcome = ended.outcome, ended_at = ended.ended_at
    from moved_head, unnest($65::text[], $66::text[], $67::bigint[]) ended (id, outcome, ended_at)
   where runs.id = ended.id
)
select seq from moved_head;
