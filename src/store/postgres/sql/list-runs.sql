-- A page of runs, newest first. What is null is not asked for.
select id, zone, agent, name, nodes, submitted_at, submitted_seq, outcome, ended_at
  from runs
 where zone = $1
   and ($2::text is null or agent = $2)
   and ($3::bigint is null or (submitted_seq, id) < ($3, $4::text))
 order by submitted_seq desc, id desc
 limit $5;
