drop table lists_{{table}};
