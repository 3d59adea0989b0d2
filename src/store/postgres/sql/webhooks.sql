-- All webhooks; there are few.
select id, zone, url, description, events, agents, types, executors, include_result, secrets, created_at, since,
       disabled_at, disabled_reason, failing_since, key_id
  from webhooks
 order by id;
