-- grain: one row: since when the history is whole; null where nothing was removed
select max(starts_at) as starts_at
from history_start;
