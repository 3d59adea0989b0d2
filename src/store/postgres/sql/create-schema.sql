-- The statement that creates the schema, if it is not there. Asked first, because `if not exists` needs the right to
-- create schemas even where nothing is created.
select format('create schema %I', $1::text) as statement
 where not exists (select from pg_namespace where nspname = $1::text);
