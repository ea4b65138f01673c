-- The rows of a relation with a list column, with each list in its original order.
-- {{rows}}, {{members}}: the rows with the digest of the list, and the members of the lists
with
  lake_row as (
{{rows}}
  ),
  lake_member as (
{{members}}
  ),
  lake_lists as (
    select {{key}}, {{aggregate}} as lake_list
    from lake_member
    group by {{key}}
  )
select {{columns}}
from lake_row
left join lake_lists on {{sameList}}
