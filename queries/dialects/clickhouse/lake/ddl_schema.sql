-- As `queries/lake/ddl_schema.sql`, for ClickHouse.
create database if not exists {{schema}};
