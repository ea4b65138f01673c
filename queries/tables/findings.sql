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
  detail json, -- what the rule saw; `unassessed` in it says why the last run could not tell
  state varchar not null, -- `new`, `open`, `resolved` or `accepted`
  first_seen timestamptz not null, -- when it was first found
  last_seen timestamptz not null, -- when it was last found
  resolved_at timestamptz, -- when a complete pull showed it gone
  times_reopened bigint not null, -- how often it came back
  opened_at timestamptz, -- since when it stands without a break: first found, or last reopened
  state_since timestamptz, -- when it came into its state
  group_key varchar, -- its cause, shared by findings of one rule and target; null when it stands alone
  weight double, -- how bad it is by the rule's own measure; more is worse; null where the rule has none
  unassessed_since timestamptz, -- since when no complete evidence tells whether it holds; null while it is told
  accepted_at timestamptz, -- when it was last accepted
  accepted_until timestamptz, -- when that acceptance ends
  accepted_reason varchar, -- why it was accepted
  accepted_owner varchar, -- who answers for it
  accepted_severity varchar, -- severity when it was accepted; a higher one ends the acceptance
  accepted_weight double -- weight when it was accepted; a greater one ends the acceptance
);
