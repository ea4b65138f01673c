drop table {{table}};
