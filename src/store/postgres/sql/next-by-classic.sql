-- What waits on its own, in the order in which it should start at $1 by tiers that age: the lower effective tier
-- first, then who is longer ready, then the smaller id. The constants: a tier of boost costs $3, and at most $4
-- count; the wait is looked at in steps of $5, every $6 of it lift by a tier, and beyond $7 the tier is 1 at most.
-- Deadlines are not looked at.
with waiting as (
  select id, greatest(enqueued_at, run_at) as ready_at, $1::bigint - greatest(enqueued_at, run_at) as wait,
         greatest(priority - least(boost_micros / $3::bigint, $4::bigint), 0) as start_tier
    from tasks
   where status = 0 and run_id is null and greatest(enqueued_at, run_at) <= $1::bigint
), aged as (
  select id, ready_at, wait,
         greatest(start_tier - (wait - wait % $5::bigint) / $6::bigint, 0) as tier
    from waiting
)
select id
  from aged
 order by case when wait > $7::bigint then least(tier, 1) else tier end, ready_at, id
 limit $2;
