-- Commit a block that only changes tasks: commit-with-rows.sql without the rest, which would cost a small commit more
-- than its rows do.
with moved_head as (
  update head
     set epoch = $3, seq = $4, hash = $5
   where hash = $1 and seq = $2::bigint
     and (epoch = $3::bigint or (holder = '' and epoch < $3::bigint))
  returning seq
), added_block as (
  insert into blocks (seq, count, epoch, now, prev, hash, line)
  select $2 + 1, $6::integer, $3, $7::bigint, $1, $5, $8::text from moved_head
), progressed_tasks as (
  update tasks
     set status = changed.status, attempt = changed.attempt, worker = changed.worker,
         started_at = changed.started_at, ended_at = changed.ended_at, result = changed.result,
         result_hash = changed.result_hash, error_code = changed.error_code,
         error_message = changed.error_message, cost_micros = changed.cost_micros, seq = changed.seq
    from moved_head, unnest(
         $9::text[], $10::smallint[], $11::integer[], $12::text[], $13::bigint[], $14::bigint[],
         $15::text[], $16::text[], $17::text[], $18::text[], $19::bigint[], $20::bigint[])
         changed (
         id, status, attempt, worker, started_at, ended_at, result, result_hash, error_code,
         error_message, cost_micros, seq)
   where tasks.id = changed.id
)
select seq from moved_head;
