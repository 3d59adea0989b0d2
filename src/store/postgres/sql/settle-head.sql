-- The end of the chain, after a commit whose outcome is unknown. It writes, although it changes nothing: the row's
-- lock waits for a commit that is still under way, and with synchronous standbys our commit waits for all before it.
-- Whether the block is there, has-block.sql asks after it: the snapshot of this statement is older than its lock.
update head set hash = hash
returning epoch, seq, hash, holder;
