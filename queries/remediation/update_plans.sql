-- Adds the plans that are not known, and says who approved the others. $rows: the kept plans as a JSON array
merge into plans
using (
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
  ), recursive := true)
) as kept
on kept.plan_id = plans.plan_id
when matched and kept.approved_by is distinct from plans.approved_by then update set approved_by = kept.approved_by
when not matched then insert by name;
