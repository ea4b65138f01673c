-- grain: one row per number of the digest, in its order
-- parameters: $metrics: JSON list of the header and the row of each file of `metrics/`
-- `subject_order` is its place in the subject; `phrase` is null where the subject leaves it out.
with
  written as (
    select unnest(from_json(
      $metrics,
      '[{
        "label": "VARCHAR", "sources": "VARCHAR", "report": "VARCHAR", "order": "VARCHAR", "subject": "VARCHAR", "one": "VARCHAR", "many": "VARCHAR",
        "value": "VARCHAR", "before": "VARCHAR", "first_assessed": "VARCHAR", "added": "VARCHAR", "returned": "VARCHAR", "resolved": "VARCHAR", "deleted": "VARCHAR", "accepted": "VARCHAR", "by_severity": "VARCHAR", "unwatched": "VARCHAR"
      }]'
    ), recursive := true)
  ),
  -- what is no number is not known
  metrics as (
    select
      label,
      report,
      one,
      many,
      try_cast("order" as double) as "order",
      try_cast(subject as double) as subject,
      try_cast(value as double) as value,
      try_cast(before as double) as before,
      coalesce(try_cast(first_assessed as bigint), 0) as first_assessed,
      try_cast(added as bigint) as added,
      try_cast(returned as bigint) as returned,
      try_cast(resolved as bigint) as resolved,
      try_cast(deleted as bigint) as deleted,
      try_cast(accepted as bigint) as accepted,
      coalesce(try_cast(by_severity as bigint), 0) as by_severity,
      coalesce(try_cast(unwatched as bigint), 0) as unwatched,
      exists (from mail_sources where stale and (written.sources = 'all' or source in (select unnest(string_split_regex(written.sources, ' *, *'))))) as is_stale,
    from written
  ),
  compared as (
    select
      *,
      -- what is known for the first time, or no longer, is no change
      value - first_assessed + unwatched - before as grown,
      coalesce(grown <> 0, false) as differs,
      if(grown > 0, '+', '−')
      || coalesce(
        format('{:,}', if(grown = trunc(grown), try_cast(abs(grown) as bigint), null)),
        printf('%.15g', abs(grown))
      ) as difference,
      concat_ws(
        ', ',
        told_changes(added, returned, resolved, deleted),
        format('{:,} accepted', nullif(accepted, 0)),
        if(by_severity = 0, null, format('{}{:,} by severity', if(by_severity > 0, '+', '−'), abs(by_severity))),
        format('{:,} assessed for the first time', nullif(first_assessed, 0)),
        format('{:,} no longer watched', nullif(unwatched, 0))
      ) as named,
      concat_ws(
        ' ',
        format('+{:,}', nullif(coalesce(added, 0) + coalesce(returned, 0) + greatest(by_severity, 0), 0)),
        format('−{:,}', nullif(coalesce(resolved, 0) + coalesce(deleted, 0) + coalesce(accepted, 0) - least(by_severity, 0), 0))
      ) as short,
    from metrics
  ),
  told as (
    select *, coalesce(nullif(short, ''), if(differs, difference, null)) as change
    from compared
  )
select
  label,
  report,
  value,
  is_stale,
  -- empty where the previous value is not known
  case
    when named <> '' then named
    when differs then difference
    when grown = 0 then 'no change'
    else ''
  end as change,
  coalesce(grown > 0, false) as "isWorse",
  coalesce(grown < 0, false) as "isBetter",
  named <> '' or differs as is_changed,
  case
    when one is not null and many is not null and value is not null and (value <> 0 or change is not null)
      then concat(coalesce(format('{:,}', if(value = trunc(value), try_cast(value as bigint), null)), printf('%.15g', value)), ' ', if(value = 1, one, many), ' (' || change || ')')
  end as phrase,
  coalesce(subject, "order") as subject_order,
from told
order by coalesce("order", 99), label;
