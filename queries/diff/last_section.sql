-- grain: one row: the number of the last section
select max(section) as section
from sections;
