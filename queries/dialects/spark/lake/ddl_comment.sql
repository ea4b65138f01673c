-- As `queries/lake/ddl_comment.sql`, for Spark.
alter view {{name}} set tblproperties ('comment' = {{comment}});
