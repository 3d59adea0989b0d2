-- Login tickets are rows that are deleted when they are redeemed: the hash of a ticket is no ticket.
create table tickets (
  hash       text collate "C" primary key,
  expires_at bigint not null
);
-- Chunk tokens and ids of the event stream are derived from a secret that is not in the database.
delete from settings where name in ('data-secret', 'stream-secret');
