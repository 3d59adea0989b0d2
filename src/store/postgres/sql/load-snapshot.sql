-- The last snapshot, and how many parts its text has.
select seq, epoch, hash, state_hash, (select count(*) from snapshot_chunks c where c.seq = s.seq) as chunks
  from snapshots s
 order by seq desc
 limit 1;
