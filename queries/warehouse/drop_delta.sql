drop table delta_{{table}};
