-- grain: one row: the latest `valid_from` of the warehouse
select max(as_of) as latest
from pulls;
