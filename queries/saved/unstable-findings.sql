-- title: Findings that come back
-- description: Findings that were resolved and returned: their cause is still there.
-- param: times integer = 1 - returned at least so often
select rule, target, subject_type, coalesce(subject_name, subject_id) as subject, state, times_reopened, first_seen, last_seen
from findings
where times_reopened >= $times::integer
order by times_reopened desc, rule, target, subject;
