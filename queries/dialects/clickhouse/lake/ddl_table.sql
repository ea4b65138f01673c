-- As `queries/lake/ddl_table.sql`, for ClickHouse.
create or replace view {{name}} as
select *
from {{reader}}({{location}});
