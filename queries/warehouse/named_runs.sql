-- grain: one row per run whose ID is, or begins with, a text; the run of this very ID alone if there is one
select run_id, started_at
from runs
where starts_with(lower(run_id), lower($prefix))
qualify lower(run_id) = lower($prefix) or not bool_or(lower(run_id) = lower($prefix)) over ()
order by started_at desc
limit 4;
