-- grain: one row: the number of subjects that are present
select count(*) filter (where is_present) as present
from subject_candidates
