-- grain: one row per metric and label set of the autoscaler
-- key: kind, name, labels
-- source: autoscaler_metrics
-- volatile: yes
-- computed: measured_at
-- renewed: *
create table if not exists autoscaler_metrics_history (
  target varchar not null, -- name of the target in tidemark.yaml
  kind varchar, -- `gauge`, `counter`, `sample` or `point`
  name varchar, -- name of the metric
  labels json, -- labels; null when none
  value double, -- value of a gauge
  count bigint, -- observations
  sum double, -- sum of the observations
  min double, -- lowest
  max double, -- highest
  mean double, -- mean
  stddev double, -- standard deviation
  rate double, -- per second over the interval
  measured_at timestamptz, -- time of the snapshot of all metrics
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
