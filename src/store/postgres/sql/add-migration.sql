-- Note what was applied.
insert into migrations (number, name, hash) values ($1, $2, $3);
