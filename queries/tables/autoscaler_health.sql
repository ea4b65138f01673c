-- grain: one row per autoscaler
-- key: target
-- source: autoscaler_health
-- volatile: yes
create table if not exists autoscaler_health_history (
  target varchar not null, -- name of the target in tidemark.yaml
  alive boolean, -- whether the agent said that it is alive
  checked_at timestamptz, -- when it was asked
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
