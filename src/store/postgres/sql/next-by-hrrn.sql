-- What waits on its own, in the order in which it should start at $1: the higher class first, then the higher
-- response ratio (wait + estimate) / estimate, then who is longer ready, then the smaller id.
-- The ratio is cut after forty digits. Two that differ do so by more than 1 / 10^38, the product of two bigints, so
-- this order is exact, where that of rounded quotients is not. Starvation, deadlines and cost are not looked at.
select id
  from tasks
 where status = 0 and run_id is null and greatest(enqueued_at, run_at) <= $1::bigint
 order by priority_class,
          div(($1::bigint - greatest(enqueued_at, run_at) + estimate_ms) * 1e40::numeric, estimate_ms) desc,
          greatest(enqueued_at, run_at),
          id
 limit $2;
