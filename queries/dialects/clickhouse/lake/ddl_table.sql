create or replace view {{name}} as
select *
from {{reader}}({{location}});
