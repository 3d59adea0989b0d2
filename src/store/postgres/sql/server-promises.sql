-- Text of any language must be kept as it is, and what was committed after a crash too.
select current_setting('server_encoding') as encoding,
       current_setting('transaction_read_only') = 'on' as is_read_only,
       array(select name
               from unnest(array['fsync', 'synchronous_commit', 'full_page_writes']) name
              where current_setting(name) = 'off') as off;
