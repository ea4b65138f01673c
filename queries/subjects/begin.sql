-- grain: one row per subject that was ever seen, of all kinds; `candidates.sql` fills it for each kind
create or replace temp table subject_candidates (
  subject_type varchar,
  slug varchar,
  target varchar,
  subject_id varchar,
  subject_name varchar,
  place varchar,
  changed_at timestamptz,
  is_present boolean,
  gone_at timestamptz
)
