-- grain: one row per action in the ledger. $rows: the ledger rows as a JSON array
insert into actions by name
select unnest(row)
from (
  select unnest(from_json(
    $rows::json,
    '[{
      "target": "VARCHAR",
      "plan_id": "VARCHAR",
      "action_id": "VARCHAR",
      "playbook": "VARCHAR",
      "operation": "VARCHAR",
      "params": "JSON",
      "finding_id": "VARCHAR",
      "status": "VARCHAR",
      "reason": "VARCHAR",
      "approved_by": "VARCHAR",
      "started_at": "TIMESTAMPTZ",
      "finished_at": "TIMESTAMPTZ",
      "before": "JSON",
      "after": "JSON",
      "entry": "JSON"
    }]'
  )) as row
);
