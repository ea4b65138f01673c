-- Adds the plans that are not known, and says who approved the others. $rows: the kept plans as a JSON array, $now
merge into plans
using (
  with
    kept as (
      select unnest(from_json(
        $rows::json,
        '[{
          "plan_id": "VARCHAR",
          "playbook": "VARCHAR",
          "expires_at": "TIMESTAMPTZ",
          "actions": [{"target": "VARCHAR"}],
          "approvals": [{"by": "VARCHAR"}]
        }]'
      ), recursive := true)
    )
  select
    plan_id,
    array_to_string(list_sort(list_distinct([action.target for action in actions])), ', ') as target,
    playbook,
    len(actions) as actions,
    nullif(array_to_string([approval.by for approval in approvals], ', '), '') as approved_by,
    expires_at,
    $now::timestamptz as seen_at,
  from kept
) as kept
on kept.plan_id = plans.plan_id
when matched and kept.approved_by is distinct from plans.approved_by then update set approved_by = kept.approved_by
when not matched then insert by name;
