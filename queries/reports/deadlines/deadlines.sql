-- grain: one row per thing that is overdue or ends within 90 days, the first to end first
-- title: What ends
-- empty: Nothing is known to end within 90 days.
-- labels: ends_at=Ends; days=Days left; kind=What; subject_name=Name; what_to_do=What to do
-- subjects: subject_name=$kind:subject_id
-- hidden: subject_id
select
  target,
  ends_at,
  floor((epoch(ends_at) - epoch($as_of::timestamptz)) / 86400)::bigint as days,
  kind,
  subject_name,
  what_to_do,
  subject_id,
from deadlines_at($as_of)
where ends_at <= $as_of::timestamptz + interval 90 days
order by ends_at, kind, subject_name, target, subject_id;
