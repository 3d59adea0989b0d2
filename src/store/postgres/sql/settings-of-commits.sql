-- Prepare a connection for commits. Their plan is made once, whatever the sizes of the arrays, and must not be one
-- that reads whole tables: it may be made while they are empty, and used when they are not. A process that stands still
-- in the middle of a transaction must not keep the head from those who would take over. The time-outs replace those of the
-- role or database, which are meant for people: the server waits for a commit just as long as this process does.
select set_config('search_path', quote_ident($1), false),
       set_config('plan_cache_mode', 'force_generic_plan', false),
       set_config('enable_seqscan', 'off', false),
       set_config('enable_hashjoin', 'off', false),
       set_config('enable_mergejoin', 'off', false),
       set_config('jit', 'off', false),
       set_config('idle_in_transaction_session_timeout', '2s', false),
       set_config('statement_timeout', '30s', false);
