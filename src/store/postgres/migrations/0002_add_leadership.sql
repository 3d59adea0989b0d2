-- Who leads, where it takes requests, and that it is alive. A head without a holder may be led by anybody.
alter table head
  add column holder text collate "C" not null default '',
  add column url    text not null default '',
  add column beat   bigint not null default 0;

-- The servers that share these tables, as they say themselves. Nothing is decided by it.
create table members (
  name    text collate "C" primary key,
  url     text not null,
  role    text collate "C" not null,
  seq     bigint not null,
  seen_at timestamptz not null
) with (fillfactor = 50);
