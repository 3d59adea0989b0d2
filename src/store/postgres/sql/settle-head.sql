-- The end of the chain, after a commit whose outcome is unknown. It writes, although it changes nothing: the row's
-- lock waits for a commit that is still under way, and with synchronous standbys our commit waits for all before it.
update head set hash = hash
returning epoch, seq, hash,
          exists (select from blocks where blocks.seq = $1 and blocks.hash = $2) as has_block;
