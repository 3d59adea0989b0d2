-- Let somebody else lead.
update head set holder = '', url = '', beat = beat + 1
 where epoch = $1 and holder = $2
returning beat;
