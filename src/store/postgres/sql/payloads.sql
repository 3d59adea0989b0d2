-- The payloads of tasks.
select id, payload from tasks where id = any ($1::text[]);
