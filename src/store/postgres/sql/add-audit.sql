-- Note what somebody did.
insert into audit (id, at, zone, key_id, agent, action, target, detail)
values ($1, $2, $3, $4, $5, $6, $7, $8);
