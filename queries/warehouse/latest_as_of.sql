-- The latest `valid_from` of the warehouse. A new run must be later, whatever the clock says.
select max(as_of) as latest
from pulls;
