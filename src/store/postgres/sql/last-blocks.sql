-- The last blocks, newest first, as many as make up some megabytes, and at least one.
select seq, count, epoch, now, prev, hash, line
  from (select seq, count, epoch, now, prev, hash, line,
               sum(octet_length(line)) over (order by seq desc) - octet_length(line) as bytes_before
          from blocks
         order by seq desc
         limit $1) page
 where bytes_before < $2
 order by seq desc;
