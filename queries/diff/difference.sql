-- grain: as the view `changes`: the net difference of two times
-- {{changes}}: the union of table_changes.sql for every table
-- parameters: $target, $project, $subject: null for all; $from, $to
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
from difference
where
  ($target::varchar is null or target = $target)
  and ($subject::varchar is null or name = $subject or key = $subject or list_contains(string_split(key, '/'), $subject))
  and (
    $project::varchar is null
    or exists (from members where members.target = difference.target and list_contains(string_split(difference.key, '/'), members.external_id))
  )
order by "table", target, coalesce(name, key), key, change, "column";
