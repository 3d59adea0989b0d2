-- Redeem a login ticket: of several callers with the same one, only the first gets the row.
delete from tickets where hash = $1 returning expires_at;
