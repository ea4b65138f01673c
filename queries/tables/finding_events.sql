-- grain: one row per change of a finding's state or severity; the last one at or before a time is the state at that time
-- logged_at: changed_at
create table if not exists finding_events (
  finding_id varchar not null, -- the finding
  target varchar not null, -- name of the target in tidemark.yaml
  rule varchar not null, -- rule of the finding
  changed_at timestamptz not null, -- `as_of` of the run that changed it
  state varchar not null, -- new state
  severity varchar not null, -- new severity
  reason varchar not null, -- `baseline`, `found`, `no longer new`, `gone`, `deleted` (its subject is no longer there), `reopened`, `severity changed`, `accepted`, `acceptance ended`, `got worse` or `left out` (its source or target is no longer in the configuration, or its rule is gone)
  note varchar -- for an acceptance: its owner, end and reason
);
