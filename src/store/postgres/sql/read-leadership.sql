-- The end of the chain, and who leads.
select epoch, seq, hash, holder, url, beat from head;
