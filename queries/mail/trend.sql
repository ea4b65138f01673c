-- grain: one row per number of the digest with a picture: its values per UTC day, the last $days with a complete pull of workspaces up to
-- $as_of, and each day between them; null where nothing was assessed
-- parameters: $as_of; $days; $metrics: JSON list of the header of each file of `metrics/`, whose `trend` names a column of `daily`
with
  watched as (from mail_routes where target not in (from left_out_targets('workspaces', $as_of))),
  pulled as (
    select date_trunc('day', as_of) as day, max(as_of) as pulled_at
    from pulls
    where
      source = 'workspaces'
      and status = 'complete'
      and as_of <= $as_of::timestamptz
      and history_has(as_of)
      and target in (select target from watched)
    group by day
    order by day desc
    limit $days
  ),
  days as (
    select unnest(generate_series(min(day), greatest(max(day), date_trunc('day', $as_of::timestamptz)), interval 1 day)) as day
    from pulled
  ),
  mine as (
    select is_drifting, is_failing, valid_from, valid_to
    from workspace_assessments as version
    where
      exists (
        from watched as routes
        where
          routes.target = version.target
          and (routes.project is null or version.project_name glob routes.project or version.project_external_id glob routes.project)
      )
  ),
  -- how many workspaces there are, and how many of them have an assessment, from each time on
  known as (
    select
      time,
      sum(sum(present)) over (order by time) as present,
      sum(sum(drifting)) over (order by time) as drifting,
      sum(sum(failing)) over (order by time) as failing,
    from (
      select
        valid_from as time,
        1 as present,
        (is_drifting is not null)::int as drifting,
        (is_failing is not null)::int as failing,
      from mine
      union all
      select valid_to, -1, -(is_drifting is not null)::int, -(is_failing is not null)::int
      from mine
      where valid_to is not null
    )
    group by time
  ),
  assessed as (
    select
      pulled.day,
      pulled.pulled_at,
      known.present = 0 or known.drifting > 0 as has_drifting,
      known.present = 0 or known.failing > 0 as has_failing,
    from pulled
    asof left join known on pulled.pulled_at >= known.time
  ),
  versions as (
    select *
    from mine
    where is_drifting or is_failing
  ),
  daily as (
    select
      days.day,
      if(any_value(assessed.has_drifting), count(*) filter (where versions.is_drifting), null) as drifting,
      if(any_value(assessed.has_failing), count(*) filter (where versions.is_failing), null) as failing,
    from days
    left join assessed using (day)
    left join versions
      on versions.valid_from <= assessed.pulled_at
      and (versions.valid_to is null or versions.valid_to > assessed.pulled_at)
    group by days.day
  ),
  numbers as (
    select unnest(from_json($metrics, '[{"label": "VARCHAR", "order": "VARCHAR", "trend": "VARCHAR"}]'), recursive := true)
  ),
  points as (
    select *, max(value) over (partition by trend) as highest
    from daily unpivot include nulls (value for trend in (columns(* exclude (day))))
  )
select
  label,
  -- `height` in pixels; null for a day on which nothing was assessed
  list(
    {'height': if(value is null, null, greatest(1, round(value / greatest(highest, 1) * 36)))}
    order by day
  ) as bars,
  -- empty places before the first bar, so that a bar has the same width from the first digest on
  list_transform(range(greatest(0, 14 - count(*))), lambda place: true) as blanks,
  -- for readers that show no bars
  concat(
    format('{:,} to {:,} over {:,} {}, {:,} ', min(value), max(value), count(value), if(count(value) = 1, 'day', 'days'), arg_max(value, day)),
    if(arg_max_null(value, day) is null, 'when last assessed', 'now'),
    case count(*) - count(value)
      when 0 then ''
      when 1 then '; 1 day not assessed (×)'
      else format('; {:,} days not assessed (×)', count(*) - count(value))
    end
  ) as summary,
  strftime(min(day), '%Y-%m-%d') as "from",
  strftime(max(day), '%Y-%m-%d') as "to",
  string_agg(coalesce(format('{:,}', value), '×'), ' ' order by day) as "values",
from numbers
join points using (trend)
group by label, "order"
having count(*) > 1 and count(value) > 0
order by try_cast("order" as double), label;
