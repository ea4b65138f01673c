-- Gives the warehouse an identity, once. $warehouse_id: a random one.
insert into warehouse_identity
select $warehouse_id, now()
where not exists (from warehouse_identity);
