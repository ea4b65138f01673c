-- grain: the identity of this warehouse, where it has one already
select warehouse_id
from warehouse_identity
order by made_at
limit 1;
