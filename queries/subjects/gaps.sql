-- grain: one row per target, source and period without a complete pull: its incomplete pulls, and the complete one that ended it
-- parameters: $as_of, $limit: periods per target and source
with
  tried as (
    select target, source, as_of, status, if(status = 'partial', note, error) as error
    from pulls
    where as_of <= $as_of::timestamptz and status in ('complete', 'partial', 'failed', 'quarantined', 'left-out')
  ),
  periods as (
    select
      *,
      sum((status = 'complete')::int) over (partition by target, source order by as_of) as complete_before,
      min(as_of) filter (where status = 'complete') over (
        partition by target, source order by as_of rows between current row and unbounded following
      ) as ended_at,
    from tried
  )
select
  target,
  source,
  min(as_of) as happened_at,
  any_value(ended_at) as ended_at,
  'gap' as kind,
  case arg_max(status, as_of) when 'failed' then 'failed' when 'left-out' then 'is left out by the configuration' else 'is ' || arg_max(status, as_of) end as how,
  concat(how, ': ' || left(arg_max(error, as_of), 300)) as told,
  format('No complete pull of {} to {}', source, coalesce(strftime(any_value(ended_at), '%Y-%m-%d %H:%M'), 'now')) as title,
  format(
    '{:,} {} without a complete one; the last {}. Changes in this time are shown at the next complete pull.',
    count(*), if(count(*) = 1, 'pull', 'pulls'), told
  ) as note,
  if(
    any_value(ended_at) is null,
    format('The last complete pull of {} is older than {}; the last pull {}.', source, strftime(min(as_of), '%Y-%m-%d %H:%M'), told),
    ''
  ) as stale,
from periods
where status <> 'complete'
group by target, source, complete_before
qualify row_number() over (partition by target, source order by min(as_of) desc) <= $limit
order by target, source, min(as_of) desc
