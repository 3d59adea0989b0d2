-- Add an API key, or replace the one with the same id.
insert into api_keys (id, name, hmac, scopes, zones, agents, created_at, expires_at, revoked_at, key_id,
                      handed_to)
values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
    on conflict (id) do update
   set name = excluded.name, hmac = excluded.hmac, scopes = excluded.scopes, zones = excluded.zones,
       agents = excluded.agents, created_at = excluded.created_at, expires_at = excluded.expires_at,
       revoked_at = excluded.revoked_at, key_id = excluded.key_id, handed_to = excluded.handed_to;
