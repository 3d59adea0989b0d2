-- The next blocks after a sequence, as many as make up some megabytes, and at least one.
select line
  from (select seq, line, sum(octet_length(line)) over (order by seq) - octet_length(line) as bytes_before
          from blocks
         where seq > $1
         order by seq
         limit 1000) page
 where bytes_before < $2
 order by seq;
