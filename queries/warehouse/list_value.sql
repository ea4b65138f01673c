-- The list of a version of a row, from the members that were valid when it began.
-- It is sorted as a value: DuckDB never frees the state of an ordered aggregate (`string_agg(… order by …)`) whose result is not read to its end.
select array_to_string(list_transform(list_sort(list({rank: member.rank, member: member.member})), lambda one: one.member), ', ')
from {{table}}_members as member
where
  {{sameKey}}
  and member.valid_from <= version.valid_from
  and (member.valid_to is null or member.valid_to > version.valid_from)
