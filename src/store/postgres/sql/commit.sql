-- Commit a block that changes no rows: commit-with-rows.sql without its arrays.
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
