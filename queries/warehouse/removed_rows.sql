-- grain: one row per row that is missing because an action has removed it since the last complete pull: the call names the row, and a reading
-- has confirmed that it is gone
-- {{table}}, {{history}}, {{source}}, {{key}}: of the table; {{operation}}: how the names of the operations begin; {{params}}: what names a row
select delta.history_row
from delta_{{table}} as delta
join {{history}} as held on held.rowid = delta.history_row
join actions on actions.target = held.target
where
  delta.stage_row is null
  and actions.status = 'applied'
  and coalesce(actions.after::varchar, 'null') = 'null'
  and starts_with(actions.operation, {{operation}})
  and len(list_filter([{{params}}], lambda param: param is not null)) > 0
  and list_has_all([{{key}}], list_filter([{{params}}], lambda param: param is not null))
  and actions.started_at >= all (
    select coalesce(pulls.extracted_at, pulls.as_of)
    from pulls
    where pulls.target = held.target and pulls.source = {{source}} and pulls.status = 'complete'
  )
