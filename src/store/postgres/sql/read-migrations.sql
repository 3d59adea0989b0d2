-- What was applied.
select number, name, hash from migrations order by number;
