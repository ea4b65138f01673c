-- The list of a version of a row, from the members that were valid when it began.
select string_agg(member.member, ', ' order by member.rank)
from {{table}}_members as member
where
  {{sameKey}}
  and member.valid_from <= version.valid_from
  and (member.valid_to is null or member.valid_to > version.valid_from)
