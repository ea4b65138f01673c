-- grain: one row per saved view, with the outcome of running it
-- key: view_id
-- part: view_id
-- source: saved_view_rows
-- acted: platform.views view_id
create table if not exists saved_view_results_history (
  target varchar not null, -- name of the target in tidemark.yaml
  view_id varchar, -- ID of the view
  status varchar, -- `ok`, or `failed` when the service rejected the query
  result_rows bigint, -- rows returned; null when it failed
  error varchar, -- error message when it failed
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
