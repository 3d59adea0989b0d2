-- Whether a block was committed.
select from blocks where seq = $1 and hash = $2;
