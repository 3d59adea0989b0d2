-- A part of the text of a snapshot.
select text from snapshot_chunks where seq = $1 and at = $2;
