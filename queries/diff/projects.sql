-- grain: one row per project of which a workspace was in the warehouse between two times. $from, $to
select distinct project_name, project_external_id
from workspaces_history
where valid_from <= $to::timestamptz and (valid_to is null or valid_to > $from::timestamptz)
order by all;
