-- Gives existing rows the value of a column that was added.
update {{table}}
set {{column}} = {{value}};
