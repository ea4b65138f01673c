-- grain: one row per subject that has a page, by kind and name
select *
from subject_pages
order by subject_type, lower(subject_name), target, subject_id
