-- How far ends were followed.
select value from webhook_cursor;
