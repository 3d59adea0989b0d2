-- Begin the next epoch, if nothing has changed since the head was read ($1 epoch, $2 seq, $3 beat). A commit or a
-- beat that is under way is waited for, because it holds the row, and then the head is another one.
-- A process must not lead on tables that a newer version has migrated ($6: the numbers of the migrations that it knows).
update head
   set epoch = epoch + 1, beat = beat + 1, holder = $4, url = $5
 where epoch = $1 and seq = $2 and beat = $3
   and not exists (select from migrations where number <> all ($6::integer[]))
returning epoch, seq, hash, holder, url, beat;
