-- Drop the rows that were taken in ($1), and keep those that never can be ($2) with what is wrong with them ($3).
with refused as (
  update inbox
     set error = found.error
    from unnest($2::bigint[], $3::text[]) found (number, error)
   where inbox.number = found.number
)
delete from inbox where number = any ($1::bigint[]);
