-- How much stands in the inbox.
select count(*) filter (where error is null) as waiting, count(*) filter (where error is not null) as refused
  from inbox;
