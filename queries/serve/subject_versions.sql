-- The versions of the row of row_timeline.sql in the form of the versions of a subject.
select 'row' as subject_id, null::varchar as subject_name, null::varchar as place, *
from row_versions
