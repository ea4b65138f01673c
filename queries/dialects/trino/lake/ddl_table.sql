-- As `queries/lake/ddl_table.sql`, for Trino.
call system.register_table(schema_name => {{schema}}, table_name => {{label}}, table_location => {{location}});
