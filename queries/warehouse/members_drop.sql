drop table stage_lists;
