-- What waits in the inbox, oldest first: at most $3 rows and about $4 bytes, without those of the agents ($1 zones,
-- $2 agents) that have to wait. Whether a row was taken in already is seen by its task, which has its id.
select number, task_id, zone, agent, body, is_taken
  from (select waiting.*, exists (select from submissions where submissions.id = waiting.task_id) as is_taken,
               sum(bytes) over (order by number) - bytes as bytes_before
          from (select number, task_id, zone, agent, body, bytes
                  from inbox
                 where error is null
                   and not exists (select from unnest($1::text[], $2::text[]) held (zone, agent)
                                    where held.zone = inbox.zone and held.agent = inbox.agent)
                 order by number
                 limit $3) waiting) measured
 where bytes_before < $4
 order by number;
