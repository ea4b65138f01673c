-- Actions that may have changed rows of one table. `ids` are the parts of the key that the call names; `fields` are the columns that the
-- states before and after it have, and `changed_fields` those that differ in them.
-- {{label}}, {{source}}, {{columns}}: the table; {{operation}}: how the names of the operations begin; {{params}}: what names a row
select
  {{label}} as "table",
  {{source}} as source,
  target,
  plan_id,
  action_id,
  approved_by,
  started_at,
  list_filter(flatten(list_transform([{{params}}], lambda param: string_split(param, '/'))), lambda part: part is not null) as ids,
  before::varchar as before,
  after::varchar as after,
  list_filter({{columns}}, lambda name: json_exists(before, name) or json_exists(after, name)) as fields,
  list_filter({{columns}}, lambda name: (before ->> name) is distinct from (after ->> name)) as changed_fields,
from actions
where starts_with(operation, {{operation}}) and status in ('applied', 'unconfirmed')
