-- Show that the holder is alive, if it still is the holder.
update head set beat = beat + 1
 where epoch = $1 and holder = $2
returning beat;
