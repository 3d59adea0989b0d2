-- A part of the text of a snapshot.
insert into snapshot_chunks (seq, at, text) values ($1, $2, $3);
