-- What a database promises, and how it is doing.
select current_setting('server_version_num')::int as version,
       current_setting('server_version') as version_text,
       current_setting('server_encoding') as encoding,
       current_setting('fsync') as fsync,
       current_setting('synchronous_commit') as synchronous_commit,
       current_setting('full_page_writes') as full_page_writes,
       current_setting('max_connections')::int as max_connections,
       current_setting('superuser_reserved_connections')::int as reserved_connections,
       pg_is_in_recovery() as is_standby,
       (select count(*)::int from pg_stat_activity where backend_type = 'client backend') as connections,
       (select count(*)::int
          from pg_stat_activity
         where state like 'idle in transaction%' and state_change < now() - interval '5 minutes') as forgotten,
       (extract(epoch from clock_timestamp()) * 1000)::float8 as now_ms;
