-- grain: one row per saved view, and what re-running it answered
-- key: view_id
-- source: saved_view_rows
-- volatile: yes
create table if not exists saved_view_results_history (
  target varchar not null, -- name of the target in tidemark.yaml
  view_id varchar, -- ID of the view
  status varchar, -- `ok`, or `failed` when the service refused the query itself
  result_rows bigint, -- rows returned; null when it failed
  error varchar, -- the service's words when it failed
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
