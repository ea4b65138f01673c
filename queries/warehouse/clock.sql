-- The latest moment that anything in the warehouse is valid from: a new run must lie after it, whatever the clock says.
select max(as_of) as latest
from pulls;
