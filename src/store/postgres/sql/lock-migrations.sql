-- One process migrates at a time; the others wait and then find nothing to do.
select pg_advisory_xact_lock(hashtextextended('orrery migrations of ' || $1, 0));
