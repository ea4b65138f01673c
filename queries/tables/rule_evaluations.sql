-- grain: one row per rule and target that was ever assessed
-- by_target: yes
-- identity: target, rule
create table if not exists rule_evaluations (
  target varchar not null, -- name of the target in tidemark.yaml
  rule varchar not null, -- rule
  first_assessed_at timestamptz not null, -- `as_of` of the first assessment, whose findings are the baseline
  last_assessed_at timestamptz not null -- `as_of` of the last assessment
);
