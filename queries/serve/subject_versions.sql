-- The versions of one row in the form of the versions of a subject.
-- {{version}}: the versions of the row (row.sql)
select 'row' as subject_id, null::varchar as subject_name, null::varchar as place, *
from ({{version}})
