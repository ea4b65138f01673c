-- One row per subject of a kind that was ever seen: its latest name and place, and when its row last changed or disappeared.
-- {{subject}}: the kind; {{slug}}: the name of its file; {{versions}}: its versions; parameter $as_of
insert into subject_candidates
select
  {{subject}} as subject_type,
  {{slug}} as slug,
  target,
  subject_id,
  left(arg_max(subject_name, valid_from), 1000) as subject_name,
  left(arg_max(place, valid_from), 1000) as place,
  max(valid_from) as changed_at,
  coalesce(bool_or(valid_to is null or valid_to > $as_of::timestamptz), false) as is_present,
  if(is_present, null, max(valid_to)) as gone_at,
from ({{versions}}) as versions
where subject_id is not null and valid_from <= $as_of::timestamptz
group by target, subject_id
