-- Runs of some zones that ended from a time on, without some, in order.
select id, zone, agent, name, nodes, submitted_at, submitted_seq, outcome, ended_at
  from runs
 where ended_at >= greatest($1::bigint, 0) and zone = any ($2::text[]) and not id = any ($3::text[])
 order by ended_at, id
 limit $4;
