-- As `queries/lake/ddl_schema.sql`, for Spark.
create database if not exists {{schema}};
