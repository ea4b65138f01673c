-- grain: one row per run that pulled from $since until $until, the newest first, with what it could not load
select
  run_id,
  max(as_of) as as_of,
  coalesce(any_value(runs.job), 'pull') as job,
  any_value(runs.status) as status,
  to_json(list(format('{}: {} {}', pulls.target, source, pulls.status) order by pulls.target, source) filter (pulls.status not in ('complete', 'left-out'))) as gaps,
from pulls
left join runs using (run_id)
where as_of between $since::timestamptz and $until::timestamptz
group by run_id
order by as_of desc
limit $limit::bigint;
