drop table stage_{{table}};
