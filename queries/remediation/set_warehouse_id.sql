-- Assigns an ID to the warehouse if it has none. $warehouse_id: a random one
insert into warehouse_identity
select $warehouse_id, now()
where not exists (from warehouse_identity);
