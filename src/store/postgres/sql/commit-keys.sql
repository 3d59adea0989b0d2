-- Part of a commit: the keys that tasks came with. Parameters: one array per column.
added_keys as (
  insert into idempotency_keys (zone, agent, key, task_id, body_hash)
  select added.*
    from moved_head, unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[]) added
)
