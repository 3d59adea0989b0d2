-- A server has gone.
delete from members where name = $1;
