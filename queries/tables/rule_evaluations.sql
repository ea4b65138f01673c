-- grain: one row per rule and target that complete pulls ever allowed to assess
-- renamed_from: finding_assessments
create table if not exists rule_evaluations (
  target varchar not null, -- name of the target in tidemark.yaml
  rule varchar not null, -- rule
  first_assessed_at timestamptz not null, -- as of when it was first assessed: what it found then is the silent baseline
  last_assessed_at timestamptz not null -- as of when it was last assessed
);
