-- What the servers of this store share, as a fingerprint.
select value from settings where name = 'secret-fingerprint';
