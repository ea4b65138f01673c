select publish
from lake_runs
order by publish;
