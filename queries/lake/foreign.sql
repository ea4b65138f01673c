-- grain: one row per target that another writer has pulled, with the time until which it has. Rows belong to a target: what this warehouse
-- knows of it from before says nothing about the rows that the lake has since.
create or replace temp table lake_foreign as
select target as lake_target, max(as_of) as lake_until
from lake_pulls
where publish in (select publish from lake_runs where not is_own)
group by target;
