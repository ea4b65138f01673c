-- grain: one row per table or view of the published file: one that this version documents may be missing until the next run
select name
from (show tables)
