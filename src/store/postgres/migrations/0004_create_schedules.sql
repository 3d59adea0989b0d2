-- Recurring tasks. Outside of the ledger, as API keys are: what they submit is in it. Times are milliseconds since
-- 1970, and -1 stands for none.
create table schedules (
  id             text collate "C" primary key,
  zone           text collate "C" not null,
  agent          text collate "C" not null,
  name           text not null,
  cron           text not null,
  time_zone      text not null,
  -- JSON, as POST /submit takes it.
  task           text not null,
  catch_up       text not null,
  catch_up_limit integer not null,
  overlap        text not null,
  start_at       bigint not null,
  end_at         bigint not null,
  paused         boolean not null,
  created_at     bigint not null,
  -- All times up to this one have been seen to.
  seen_to        bigint not null,
  last_fired_at  bigint not null,
  last_task_id   text collate "C" not null,
  last_error     text not null
);
