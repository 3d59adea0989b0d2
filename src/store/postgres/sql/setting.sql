-- The value of a setting.
select value from settings where name = $1;
