-- A page of tasks of some statuses, newest first, without what may be large: the newest of each, merged.
-- Those that wait (status 0) may have no progress yet, so they are looked for among all. Where they are few among many,
-- list-some-tasks.sql is what to ask. The anti-join makes the planner expect that most rows match. With a condition on a left
-- join it expects one in 200, and reads and sorts a million rows until the table has been analyzed.
-- What is null is not asked for. The plan is made for the values of each call, so that it knows which those are.
with page as (
  select found.*
    from unnest($3::smallint[]) asked (status)
   cross join lateral (
         select progress.id, progress.submitted_seq
           from progress
           join submissions using (id)
          where progress.zone = $1 and progress.status = asked.status and asked.status > 0
            and ($2::text is null or progress.agent = $2)
            and ($4::text is null or executor = $4)
            and ($5::text is null or type = $5)
            and ($6::text is null or run_id = $6)
            and ($7::bigint is null or (progress.submitted_seq, progress.id) < ($7, $8::text))
          order by progress.submitted_seq desc, progress.id desc
          limit $9) found
  union all
  (select id, submissions.submitted_seq
     from submissions
    where 0 = any ($3::smallint[]) and submissions.zone = $1
      and not exists (select from progress where progress.id = submissions.id and progress.status > 0)
      and ($2::text is null or submissions.agent = $2)
      and ($4::text is null or executor = $4)
      and ($5::text is null or type = $5)
      and ($6::text is null or run_id = $6)
      and ($7::bigint is null or (submissions.submitted_seq, id) < ($7, $8::text))
    order by submissions.submitted_seq desc, id desc
    limit $9)
   order by submitted_seq desc, id desc
   limit $9
)
select id, zone, agent, submitted_seq, enqueued_at, run_at, deadline, estimate_ms, boost_micros,
       cost_micros, started_at, ended_at, seq, attempt, priority, priority_class, status, run_id,
       run_node, executor, type, request_state, worker, payload_hash, result_hash, error_code,
       error_message
  from page
  join tasks using (id, submitted_seq)
 order by submitted_seq desc, id desc;
