-- grain: one row per saved explorer view
-- key: view_id
-- source: saved_views
create table if not exists saved_views_history (
  target varchar not null, -- name of the target in tidemark.yaml
  view_id varchar, -- ID of the view (sq-…)
  name varchar, -- name of the view
  query_type varchar, -- explorer view that it queries
  query json, -- filter, fields and sort as the service keeps them
  created_at timestamptz, -- creation time
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
