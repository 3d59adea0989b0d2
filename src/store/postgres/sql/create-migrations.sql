-- What was applied to this schema, with the hash of its text.
create table if not exists migrations (
  number     integer primary key,
  name       text not null,
  hash       text not null,
  applied_at timestamptz not null default now()
);
