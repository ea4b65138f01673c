-- The history of one row, as the page of a subject shows it: one row per time and column that changed.
-- {{version}}: the versions of the row (row.sql); {{timeline}}: subjects/timeline.sql, which reads `subject_pages`
with subject_pages as (select distinct 'row' as subject_type, target, 'row' as subject_id from ({{version}}))
select *
from ({{timeline}})
