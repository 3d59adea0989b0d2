-- What was submitted never changes; how it goes on has a table of its own, to which most tasks add one row when they end.
-- To change a row of a large table means to write all of it again, with an entry in each of its indexes, at a place that
-- nobody has looked at for long: that was most of what the end of a task cost. `tasks` shows both together.
create table progress (
  submitted_seq bigint not null,
  seq bigint not null,
  started_at bigint not null,
  ended_at bigint not null,
  cost_micros bigint not null,
  attempt integer not null,
  status smallint not null,
  id text collate "C" not null,
  zone text collate "C" not null,
  agent text collate "C" not null,
  worker text collate "C" not null,
  result_hash text collate "C" not null,
  error_code text collate "C" not null,
  error_message text not null,
  result text
) with (
  fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_insert_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);

insert into progress
select submitted_seq, seq, started_at, ended_at, cost_micros, attempt, status, id, zone, agent, worker, result_hash,
       error_code, error_message, result
  from tasks
 where (seq, started_at, ended_at, cost_micros, attempt, status, worker, result_hash, error_code, error_message)
       <> (submitted_seq, -1, -1, 0, 0, 0, '', '', '', '')
    or result is not null;

alter table progress add constraint progress_pkey primary key (id);
create index progress_by_agent on progress (zone, agent, status, submitted_seq);
create index progress_by_zone on progress (zone, status, submitted_seq);
create index progress_by_end on progress (ended_at) where ended_at >= 0;

drop index tasks_by_agent, tasks_by_zone, tasks_by_end, tasks_traced;
alter table tasks rename to submissions;
alter table submissions rename constraint tasks_pkey to submissions_pkey;
alter index tasks_by_run rename to submissions_by_run;
alter table submissions
  drop column seq, drop column started_at, drop column ended_at, drop column cost_micros, drop column attempt,
  drop column status, drop column worker, drop column result_hash, drop column error_code,
  drop column error_message, drop column result;
alter table submissions reset (fillfactor);
create index submissions_by_agent on submissions (zone, agent, submitted_seq);
create index submissions_by_zone on submissions (zone, submitted_seq);

create view tasks as
select id, submissions.zone, submissions.agent, submissions.submitted_seq, enqueued_at, run_at, deadline, estimate_ms,
       boost_micros, coalesce(cost_micros, 0) as cost_micros, coalesce(started_at, -1) as started_at,
       coalesce(ended_at, -1) as ended_at, coalesce(seq, submissions.submitted_seq) as seq,
       coalesce(attempt, 0) as attempt, priority, priority_class, coalesce(status, 0::smallint) as status, run_id,
       run_node, executor, type, request_state, coalesce(worker, '') as worker, payload_hash,
       coalesce(result_hash, '') as result_hash, coalesce(error_code, '') as error_code,
       coalesce(error_message, '') as error_message, settings, payload, result
  from submissions
  left join progress using (id);
