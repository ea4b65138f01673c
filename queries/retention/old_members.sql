-- grain: one row per member of a list that goes: no version that stays has it in its list
-- {{old}}: the result; {{members}}, {{stored}}: members and versions; {{oldVersions}}: the versions that go;
-- {{sameKey}}: member and version are of the same row; parameters: $start
create or replace temp table {{old}} as
with kept as (from (select rowid as kept_row, * from {{stored}}) as version anti join {{oldVersions}} on old_row = kept_row)
select member.rowid as old_row
from {{members}} as member
where
  member.valid_to <= $start::timestamptz
  and not exists (
    from kept as version
    where {{sameKey}} and version.valid_from >= member.valid_from and version.valid_from < member.valid_to
  );
