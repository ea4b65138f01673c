-- grain: one row: the number of rows in the table `actions`
select count(*) as actions
from actions;
