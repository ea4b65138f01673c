-- As `queries/lake/ddl_table.sql`, for Spark.
create table if not exists {{name}} using delta location {{location}};
