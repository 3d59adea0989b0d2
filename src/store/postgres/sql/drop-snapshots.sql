-- Drop the snapshots up to a new one.
delete from snapshots where seq <= $1;
