-- Commit a block: all of it in one statement and one round trip, or nothing. What it changes in the rows is added where
-- needed, from the files commit-….sql: a plan that can do everything would cost a small commit more than its rows do.
-- The head is compared and swapped: whoever finds another head than the one that the block builds on changes
-- nothing, because every other part joins moved_head. Who comes second waits for the row, then sees the new head.
-- While somebody leads, only blocks of its epoch are taken.
-- Parameters: the head before ($1 hash, $2 seq), the block ($3 epoch, $4 last seq, $5 hash, $6 count, $7 now, $8 line).
with moved_head as (
  update head
     set epoch = $3, seq = $4, hash = $5
   where hash = $1 and seq = $2::bigint
     and (epoch = $3::bigint or (holder = '' and epoch < $3::bigint))
  returning seq
), added_block as (
  insert into blocks (seq, count, epoch, now, prev, hash, line)
  select $2 + 1, $6::integer, $3, $7::bigint, $1, $5, $8::text from moved_head
)
select seq from moved_head;
