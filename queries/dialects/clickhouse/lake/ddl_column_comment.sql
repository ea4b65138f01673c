-- As `queries/lake/ddl_column_comment.sql`, for ClickHouse.
alter table {{name}} comment column {{column}} {{comment}};
