-- grain: one row per target and source that was ever pulled and is not left out, as of a time
-- status: of the last pull; as_of: of the last one that was loaded, complete or partial; complete_at: of the last complete one;
-- previous_as_of: what as_of is compared with: the last loaded one before it that was reported, or null where the last pull was not
-- loaded, since nothing is known then of what changed. What an interrupted run loaded counts from the time on at which a later run
-- reported it; unknown_columns: of the last loaded one
-- defined: before the views
create or replace macro source_state_at(at_time) as table
with
  pulled as (
    select
      target,
      source,
      arg_max(status, as_of) as status,
      arg_max(error, as_of) as error,
      arg_max(note, as_of) filter (where status = 'partial') as note,
      arg_max_null(unknown_parts, as_of) filter (where status in ('complete', 'partial')) as unknown_parts,
      max(as_of) as tried_at,
      max(as_of) filter (where status in ('complete', 'partial')) as as_of,
      max(as_of) filter (where status = 'complete') as complete_at,
    from pulls
    where as_of <= at_time::timestamptz
    group by target, source
  ),
  previous as (
    select pulls.target, pulls.source, max(pulls.as_of) as previous_as_of
    from pulls
    join pulled on pulled.target = pulls.target and pulled.source = pulls.source
    left join interrupted_runs as interrupted on interrupted.started_at = pulls.as_of
    where
      pulls.status in ('complete', 'partial')
      and pulls.as_of < pulled.as_of
      and (interrupted.started_at is null or interrupted.reported_at < pulled.as_of)
    group by pulls.target, pulls.source
  )
select
  pulled.target,
  pulled.source,
  pulled.status,
  pulled.tried_at,
  case pulled.status when 'complete' then null when 'partial' then pulled.note else pulled.error end as error,
  pulled.as_of,
  pulled.complete_at,
  case when pulled.status in ('complete', 'partial') then previous.previous_as_of end as previous_as_of,
  nullif(
    to_json(
      map_from_entries(
        list_transform(
          list_filter(
            from_json(pulled.unknown_parts, '[{"column": "varchar", "reason": "varchar", "isColumn": "boolean"}]'),
            lambda part: part.isColumn
          ),
          lambda part: {'key': part."column", 'value': part.reason}
        )
      )
    )::varchar,
    '{}'
  )::json as unknown_columns,
from pulled
left join previous on previous.target = pulled.target and previous.source = pulled.source
where pulled.status <> 'left-out';
