-- Records what an update adds. {{table}}, {{column}}, {{after}}: literals
insert into additions (table_name, column_name, added_after) values ({{table}}, {{column}}, {{after}});
