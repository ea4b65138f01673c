-- A stage, or its differences, after a merge.
drop table {{table}};
