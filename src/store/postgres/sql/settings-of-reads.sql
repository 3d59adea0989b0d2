-- Prepare a connection for reads. Plans are made for the values of each call: what is not asked for must not count.
select set_config('search_path', quote_ident($1), false),
       set_config('plan_cache_mode', 'force_custom_plan', false),
       set_config('jit', 'off', false);
