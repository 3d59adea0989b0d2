-- What a key made ends with the key, or belongs to the key that it was handed to. Rows from before belong to no key.
alter table api_keys
  add column key_id text collate "C" not null default '', add column handed_to text collate "C" not null default '';
alter table schedules add column key_id text collate "C" not null default '';
alter table webhooks add column key_id text collate "C" not null default '';
