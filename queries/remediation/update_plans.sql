-- Who approved the plans that are known. $rows: the kept plans as a JSON array
update plans
set approved_by = kept.row.approved_by
from (select unnest(from_json($rows::json, '[{"plan_id": "VARCHAR", "approved_by": "VARCHAR"}]')) as row) as kept
where kept.row.plan_id = plans.plan_id and kept.row.approved_by is distinct from plans.approved_by;
