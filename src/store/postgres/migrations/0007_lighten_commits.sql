-- What waits is ordered in memory; its index in SQL served nothing but tests, and every submission paid for it.
drop index tasks_waiting;

-- Ties are few, and are sorted where there are some: shorter keys make smaller indexes.
drop index tasks_by_zone;
drop index tasks_by_agent;
create index tasks_by_zone on tasks (zone, status, submitted_seq);
create index tasks_by_agent on tasks (zone, agent, status, submitted_seq);

-- The default compression takes longer than all else about a block.
do $$
begin
  execute 'alter table blocks alter column line set compression lz4';
exception
  when others then
    -- This PostgreSQL was built without it.
    alter table blocks alter column line set storage external;
end
$$;
