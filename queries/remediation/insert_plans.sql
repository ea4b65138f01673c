-- grain: one row per kept plan that is not known. $rows: the kept plans as a JSON array
insert into plans by name
select row.*
from (
  select unnest(from_json(
    $rows::json,
    '[{
      "plan_id": "VARCHAR",
      "target": "VARCHAR",
      "playbook": "VARCHAR",
      "actions": "BIGINT",
      "approved_by": "VARCHAR",
      "expires_at": "TIMESTAMPTZ",
      "seen_at": "TIMESTAMPTZ"
    }]'
  )) as row
) as kept
where row.plan_id not in (select plan_id from plans);
