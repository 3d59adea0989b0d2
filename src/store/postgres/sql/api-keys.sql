-- All API keys; there are few.
select id, name, hmac, scopes, zones, agents, created_at, expires_at, revoked_at, key_id, handed_to
  from api_keys
 order by id;
