-- grain: one row per finding, from its first appearance on
-- by_target: yes
-- identity: finding_id
-- name: title
create table if not exists findings (
  finding_id varchar not null, -- stable ID made of rule, target and subject
  target varchar not null, -- name of the target in tidemark.yaml
  rule varchar not null, -- rule that reports it
  severity varchar not null, -- `info`, `warning` or `critical`
  subject_type varchar not null, -- kind of the subject
  subject_id varchar not null, -- ID of the subject
  subject_name varchar, -- name of the subject
  title varchar not null, -- summary, one line
  detail json, -- details from the rule; its field `unassessed` says why the last run could not assess the finding
  state varchar not null, -- `new`, `open`, `resolved` or `accepted`
  first_seen timestamptz not null, -- when it was first reported
  last_seen timestamptz not null, -- when it was last reported
  resolved_at timestamptz, -- when a complete pull showed that it no longer exists, or the configuration left its source out, or its rule was gone
  times_reopened bigint not null, -- how often it was reopened
  opened_at timestamptz, -- when it was first reported, or last reopened
  state_since timestamptz, -- since when it has its state
  group_key varchar, -- common cause of findings of one rule and target; null when there is none
  weight double, -- measure of the rule, higher is worse; null when the rule has none
  unassessed_since timestamptz, -- since when it cannot be assessed; null when it can
  accepted_at timestamptz, -- when it was last accepted
  accepted_until timestamptz, -- when that acceptance ends
  accepted_reason varchar, -- why it was accepted
  accepted_owner varchar, -- owner of the acceptance
  accepted_severity varchar, -- severity when it was accepted; a higher one ends the acceptance
  accepted_weight double -- weight when it was accepted; a greater one ends the acceptance
);
