drop table delta_{{table}};
drop table stage_{{table}};
