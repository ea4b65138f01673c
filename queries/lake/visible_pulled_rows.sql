-- grain: one row per target and source: the rows of its last complete pull that readers see
select target, source, arg_max(rows, as_of) as rows
from lake_pulls
where status = 'complete' and rows is not null and publish in (select publish from lake_runs_changes)
group by target, source
order by target, source;
