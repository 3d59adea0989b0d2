-- Wake the servers that listen. Never inside a commit: a notification holds a lock of the whole database until
-- its transaction is on the disk, and then no two commits share a write to it.
select pg_notify('task_enqueued', '');
