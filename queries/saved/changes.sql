-- title: What changed since a day
-- description: Rows that are new, changed, renamed, moved, gone or back, with the old and the new value of each column, and the plan that made it; without one, others did.
-- param: since timestamp = date_trunc('week', now()) - the first moment that counts; this Monday by default
-- param: table text = '*' - the table, or a pattern such as agent*
-- param: project text = '*' - the name or ID of the project of a workspace, or a pattern
-- param: subject text = '*' - the name or key of what changed, or a pattern
with
  in_projects as (
    select distinct target, external_id
    from workspaces_history
    where
      $project <> '*'
      and (project_name glob $project or project_external_id glob $project)
      and (valid_to is null or valid_to >= $since::timestamptz)
  )
select "at" as changed_at, change, "table" as table_name, target, name, key, "column" as column_name, old as old_value, "new" as new_value, plan_id, approved_by
from attributed_changes as changes
where
  changes.at >= $since::timestamptz
  and changes.table glob $table
  and (coalesce(name, key) glob $subject or key glob $subject)
  and (
    $project = '*'
    -- each part of a key is looked up: a search of the workspaces for every key would take the product of their numbers
    or exists (
      from (select unnest(string_split(changes.key, '/')) as part) as parts
      join in_projects on in_projects.target = changes.target and in_projects.external_id = parts.part
    )
  )
order by changed_at desc, table_name, target, name, key, change, column_name;
