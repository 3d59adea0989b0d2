-- Whether a schema is there, is ours, and holds anything.
select to_regnamespace(quote_ident($1)) is not null as exists,
       to_regclass(quote_ident($1) || '.migrations') is not null as is_ours,
       (select count(*)::int from pg_class where relnamespace = to_regnamespace(quote_ident($1))) as relations;
