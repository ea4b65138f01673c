-- grain: one row per thing that ends, as of the last pull
create or replace view deadlines as
select *
from deadlines_at((select max(as_of) from pulls));
