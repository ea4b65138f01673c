-- The versions of a relation with a list column, with each list as it was when the version began.
-- {{rows}}, {{members}}: the versions with the digest of the list, and the versions of the members of the lists
with
  lake_row as (
{{rows}}
  ),
  lake_member as (
{{members}}
  ),
  lake_lists as (
    select {{versionKey}}, lake_row.valid_from as lake_from, {{aggregate}} as lake_list
    from lake_row
    join lake_member on {{sameMember}}
    where
      lake_member.valid_from <= lake_row.valid_from
      and (lake_member.valid_to is null or lake_member.valid_to > lake_row.valid_from)
    group by {{qualifiedKey}}, lake_row.valid_from
  )
select {{columns}}, lake_row.valid_from as valid_from, lake_row.valid_to as valid_to
from lake_row
left join lake_lists on {{sameList}} and lake_lists.lake_from = lake_row.valid_from
