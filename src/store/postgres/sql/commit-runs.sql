-- Part of a commit: runs. Parameters: one array per column.
added_runs as (
  insert into runs (id, zone, agent, name, nodes, submitted_at, submitted_seq, outcome, ended_at)
  select added.*
    from moved_head, unnest(
         $1::text[], $2::text[], $3::text[], $4::text[], $5::integer[], $6::bigint[],
         $7::bigint[], $8::text[], $9::bigint[]) added
)
