-- Every entry of the audit, oldest first by its event.
select id, at, zone, key_id, agent, action, target, before, detail, seq from audit order by seq, id;
