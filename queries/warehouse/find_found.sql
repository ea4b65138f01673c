-- grain: one row that a rule yields. `unknown`: the subject cannot be judged, which keeps a finding and makes none;
-- without a subject_id it speaks for every finding of the rule and target whose detail contains its detail.
create or replace temp table find_found (
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
