-- Handles of results that stay on workers begin with a character that begins no JSON text, so that no result can be taken
-- for one. The hash of a handle is the one in it. The hash of a value is that of its text, which cannot contain it.
update progress
   set result = '@' || substr(result, 10, length(result) - 10)
 where result like '{"$held":{%}}'
   and length(result_hash) = 64
   and position('"sha256":"' || result_hash || '"' in result) > 0;
