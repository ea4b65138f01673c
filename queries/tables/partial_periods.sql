-- grain: one row per period of unassessed_rules in which the rule could be assessed but for some parts of its sources
-- identity: target, rule, since
-- logged_at: since
-- internal: yes
create table if not exists partial_periods (
  target varchar not null, -- name of the target in tidemark.yaml
  rule varchar not null, -- rule
  since timestamptz not null -- beginning of the period
);
