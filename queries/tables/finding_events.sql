-- grain: one row per change of a finding's state or severity; the last one up to a moment is what it was at that moment
create table if not exists finding_events (
  finding_id varchar not null, -- the finding
  target varchar not null, -- name of the target in tidemark.yaml
  rule varchar not null, -- rule of the finding
  changed_at timestamptz not null, -- as of when it changed
  state varchar not null, -- state that it came into
  severity varchar not null, -- its severity then
  reason varchar not null, -- `baseline`, `found`, `no longer new`, `gone`, `reopened`, `severity changed`, `accepted`, `acceptance ended` or `got worse`
  note varchar -- of an acceptance: who answers for it, until when, and why
);
