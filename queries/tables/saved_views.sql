-- grain: one row per saved explorer view
-- key: view_id
-- source: saved_views
-- past: created_at
-- acted: platform.views view_id
create table if not exists saved_views_history (
  target varchar not null, -- name of the target in tidemark.yaml
  view_id varchar, -- ID of the view (sq-…)
  name varchar, -- name of the view
  query_type varchar, -- explorer view that it queries
  query json, -- filter, fields and sort, as the service stores them
  created_at timestamptz, -- creation time
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
