-- As `queries/lake/ddl_at.sql`, for Spark.
create or replace function {{name}}(at_time timestamp) returns table
return
{{query}};
