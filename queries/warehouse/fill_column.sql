-- Gives existing rows the value of a column that was added. An update would conflict with the change of the table.
alter table {{table}} alter column {{column}} set data type {{type}} using {{value}};
