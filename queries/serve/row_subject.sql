-- grain: at most one row: the subject that a row of a table is
-- {{subject}}: its kind, a literal; {{versions}}: the versions of such subjects; {{key}}: condition on the columns of the row's key
select {{subject}} as subject_type, subject_id, subject_name
from ({{versions}})
where {{key}}
limit 1
