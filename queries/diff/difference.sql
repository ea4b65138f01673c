-- grain: as the view `attributed_changes`: the net difference of two times
-- {{changes}}: the union of table_changes.sql for every table
-- {{actedBy}}: the last action that made the change `c`
-- parameters: $targets (a list), $project, $subject: null for all; $from, $to
-- A project has its workspaces and what names them; a subject is what has its name, or its ID in the key.
with
  difference as (
    {{changes}}
  ),
  members as (
    select distinct target, external_id
    from workspaces_history
    where
      (project_name = $project::varchar or project_external_id = $project::varchar)
      and valid_from <= $to::timestamptz
      and (valid_to is null or valid_to > $from::timestamptz)
  )
select c.*, {{actedBy}} as action
from difference as c
where
  coalesce(list_contains($targets::varchar[], c.target), true)
  and ($subject::varchar is null or c.name = $subject or c.key = $subject or list_contains(string_split(c.key, '/'), $subject))
  and (
    $project::varchar is null
    -- each part of a key is looked up: a search of the workspaces for every key would take the product of their numbers
    or exists (
      from (select unnest(string_split(c.key, '/')) as part) as parts
      join members on members.target = c.target and members.external_id = parts.part
    )
  )
