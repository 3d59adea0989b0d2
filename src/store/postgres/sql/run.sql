-- One run.
select id, zone, agent, name, nodes, submitted_at, submitted_seq, outcome, ended_at
  from runs
 where id = $1;
