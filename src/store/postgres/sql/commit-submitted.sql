-- Commit a block that only adds tasks of no run: commit-with-rows.sql without the rest, which would cost a small commit
-- more than its rows do.
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
), added_keys as (
  insert into idempotency_keys (zone, agent, key, task_id, body_hash)
  select added.*
    from moved_head, unnest(
         $39::text[], $40::text[], $41::text[], $42::text[], $43::text[]) added
)
select seq from moved_head;
