-- grain: one row per run started until $as_of, the newest first
with
  counted as (
    select
      run_id,
      count(*) as pulls,
      count(*) filter (status = 'complete') as complete,
      list(format('{}: {} {}', target, source, status) order by target, source) filter (status <> 'complete')[:10] as incomplete,
    from pulls
    where status not in ('left-out', 'unsupported')
    group by run_id
  )
select
  runs.run_id,
  runs.job,
  runs.status,
  runs.started_at,
  runs.finished_at,
  coalesce(counted.pulls, 0) as pulls,
  coalesce(counted.complete, 0) as complete,
  coalesce(counted.incomplete, []) as incomplete,
from runs
left join counted using (run_id)
where runs.started_at <= $as_of::timestamptz
order by runs.started_at desc, runs.run_id desc
limit 30;
