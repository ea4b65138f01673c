create or replace view {{name}} as
select *
from delta_scan({{location}});
