-- grain: one row per thing whose end is not known
-- title: End not known
-- about: These may end at any time. "Not known" is a file whose query fails.
-- empty: Every end is known.
-- labels: kind=What; subject_name=Name; what_to_do=What to do
-- subjects: subject_name=$kind:subject_id
-- hidden: subject_id
select target, kind, subject_name, what_to_do, subject_id
from deadlines_at($as_of)
where ends_at is null
order by kind, subject_name, target, subject_id;
