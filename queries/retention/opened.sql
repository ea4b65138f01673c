-- grain: one row per version of a subject and unresolved finding about it
-- {{versions}}: the versions of the subjects; {{subject}}: their kind, as a literal; {{stored}}: the history; {{same}}: the same version
union all
select version.rowid, findings.opened_at
from ({{versions}}) as subject
join findings on
  findings.target = subject.target
  and findings.subject_id = subject.subject_id
  and findings.subject_type = {{subject}}
  and findings.state <> 'resolved'
join {{stored}} as version on {{same}}
