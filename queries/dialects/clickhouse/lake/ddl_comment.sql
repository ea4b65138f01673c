-- As `queries/lake/ddl_comment.sql`, for ClickHouse.
alter table {{name}} modify comment {{comment}};
