-- The name of a table of the lake.
create or replace view {{name}} as
select *
from delta_scan({{location}});
