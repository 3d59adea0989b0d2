-- Wake the servers that listen. Never inside a commit: a notification holds a lock of the whole database until
-- its transaction is on the disk, and then no two commits share a write to it. Nor does it wait for the disk itself, where
-- commits would wait for it: one that is lost costs a poll.
select set_config('synchronous_commit', 'off', true), pg_notify('task_enqueued', '');
