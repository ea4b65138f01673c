-- grain: one row per rule, target and period in which the rule could not be assessed there, or not for some parts
-- by_target: yes
-- identity: target, rule, since
create table if not exists unassessed_rules (
  target varchar not null, -- name of the target in tidemark.yaml
  rule varchar not null, -- rule; its findings are kept as they were, and new ones may be missing
  severity varchar not null, -- the highest severity that the rule can report
  reason varchar not null, -- why it cannot be assessed
  since timestamptz not null, -- `as_of` of the first run that could not assess it
  ended_at timestamptz -- `as_of` of the run that could again; null while it cannot
);
