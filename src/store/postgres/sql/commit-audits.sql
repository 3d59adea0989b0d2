-- Part of a commit: entries of the audit whose hashes the block holds. Parameters: the columns of the entries.
kept_audits as (
  insert into audit (id, at, zone, key_id, agent, action, target, before, detail, seq)
  select added.id, added.at, added.zone, added.key_id, added.agent, added.action, added.target, added.before,
         added.detail, added.seq
    from moved_head, unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                            $8::text[], $9::text[], $10::bigint[])
           added (id, at, zone, key_id, agent, action, target, before, detail, seq)
)
