-- grain: the ID of this warehouse; no row where it has none
select warehouse_id
from warehouse_identity
order by made_at
limit 1;
