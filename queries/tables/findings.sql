-- grain: one row per finding, through its whole life
create table if not exists findings (
  finding_id varchar not null, -- stable ID made of rule, target and subject
  target varchar not null, -- name of the target in tidemark.yaml
  rule varchar not null, -- rule that found it
  severity varchar not null, -- `info`, `warning` or `critical`
  subject_type varchar not null, -- what kind of thing it is about
  subject_id varchar not null, -- ID of the subject
  subject_name varchar, -- name of the subject
  title varchar not null, -- the finding in a line
  detail json, -- what the rule saw
  state varchar not null, -- `new`, `open`, `resolved` or `accepted`
  first_seen timestamptz not null, -- when it was first found
  last_seen timestamptz not null, -- when it was last found
  resolved_at timestamptz, -- when a complete pull showed it gone
  times_reopened bigint not null -- how often it came back
);
