-- Keep a login ticket by its hash, and drop those that have ended.
with ended as (
  delete from tickets where expires_at <= $3
)
insert into tickets (hash, expires_at) values ($1, $2);
