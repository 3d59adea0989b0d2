-- Each entry of the audit has an event in the ledger that holds its hash: -1 for those from before.
alter table audit add column before text not null default 'null', add column seq bigint not null default -1;
