-- grain: one row returned by a rule. `unknown`: the subject cannot be assessed, which keeps a finding and creates none;
-- without a subject_id it applies to every finding of the rule and target whose detail contains its detail.
create or replace temp table candidates (
  rule varchar,
  target varchar,
  subject_type varchar,
  subject_id varchar,
  subject_name varchar,
  title varchar,
  detail json,
  severity varchar,
  group_key varchar,
  weight double,
  unknown boolean
);
