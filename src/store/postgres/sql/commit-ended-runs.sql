-- Part of a commit: how runs of earlier blocks ended. Parameters: one array per column.
ended_runs as (
  update runs
     set outcome = ended.outcome, ended_at = ended.ended_at
    from moved_head, unnest($1::text[], $2::text[], $3::bigint[]) ended (id, outcome, ended_at)
   where runs.id = ended.id
)
