-- Decide a setting, if nobody has yet.
insert into settings (name, value) values ($1, $2) on conflict (name) do nothing;
