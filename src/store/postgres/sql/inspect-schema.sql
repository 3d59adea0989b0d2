-- Whether a schema is there, is ours, and holds anything; and whether it, or else what it lacks, may be made.
select to_regnamespace(quote_ident($1)) is not null as exists,
       to_regclass(quote_ident($1) || '.migrations') is not null as is_ours,
       (select count(*)::int from pg_class where relnamespace = to_regnamespace(quote_ident($1))) as relations,
       coalesce(has_schema_privilege(to_regnamespace(quote_ident($1))::oid, 'create'),
                has_database_privilege(current_database(), 'create')) as may_create;
