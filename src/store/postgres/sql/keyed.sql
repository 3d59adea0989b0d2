-- The tasks behind idempotency keys.
select k.zone, k.agent, k.key, k.task_id, k.body_hash
  from unnest($1::text[], $2::text[], $3::text[]) asked (zone, agent, key)
  join idempotency_keys k using (zone, agent, key);
