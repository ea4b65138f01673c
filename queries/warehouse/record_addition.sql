-- Records what an update adds. parameters: $table, $column, $after
insert into additions (table_name, column_name, added_after) values ($table, $column, $after);
