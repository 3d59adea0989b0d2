-- Add a webhook, or replace the one with the same id.
insert into webhooks (
  id, zone, url, description, events, agents, types, executors, include_result, secrets, created_at, since,
  disabled_at, disabled_reason, failing_since, key_id)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
    on conflict (id) do update
   set url = excluded.url, description = excluded.description, events = excluded.events,
       agents = excluded.agents, types = excluded.types, executors = excluded.executors,
       include_result = excluded.include_result, secrets = excluded.secrets, since = excluded.since,
       disabled_at = excluded.disabled_at, disabled_reason = excluded.disabled_reason,
       failing_since = excluded.failing_since;
