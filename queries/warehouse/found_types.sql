-- grain: one row per subject type of a finding that an evaluation may end with its subject
select distinct subject_type
from findings
where state <> 'resolved';
