-- Begin a snapshot. One that is newer stays the last: who has lost the lead may be late with its own.
insert into snapshots (seq, epoch, hash, state_hash)
select $1::bigint, $2::bigint, $3, $4
 where not exists (select from snapshots where seq > $1::bigint)
returning seq;
