-- The block that holds the event of a sequence.
select seq, count, epoch, now, prev, hash, line
  from blocks
 where seq <= $1
 order by seq desc
 limit 1;
