-- grain: one row per part that a target's current rows belong to, such as their plugin. {{part}}: the column
select distinct {{part}} as part
from {{history}}
where target = $target and valid_to is null;
