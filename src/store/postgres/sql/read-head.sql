-- The end of the chain.
select epoch, seq, hash from head;
