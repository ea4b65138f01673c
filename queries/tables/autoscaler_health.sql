-- grain: one row per autoscaler
-- key: target
-- source: autoscaler_health
-- volatile: yes
-- computed: checked_at
create table if not exists autoscaler_health_history (
  target varchar not null, -- name of the target in tidemark.yaml
  alive boolean, -- whether the agent reports that it is alive; false as well where nothing listens at its address
  checked_at timestamptz, -- time of the last check; a change of it alone is no version
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
