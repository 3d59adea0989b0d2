-- Who did what that takes more than to submit and to look. Ids grow with time.
create table audit (
  id text collate "C" primary key,
  at bigint not null,
  zone text collate "C" not null,
  key_id text collate "C" not null,
  agent text not null,
  action text collate "C" not null,
  target text not null,
  detail text not null
);
create index audit_by_zone on audit (zone, id);
