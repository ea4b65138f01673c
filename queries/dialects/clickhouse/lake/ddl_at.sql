-- As `queries/lake/ddl_at.sql`, for ClickHouse.
create or replace view {{name}} as
{{query}};
