-- grain: one row per row that a saved view returns
-- key: view_id, position
-- source: saved_view_rows
-- volatile: yes
create table if not exists saved_view_rows_history (
  target varchar not null, -- name of the target in tidemark.yaml
  view_id varchar, -- ID of the view
  position bigint, -- place of the row in the result, from 1
  row_id varchar, -- ID of the row
  attributes json, -- the row's fields under snake_case names
  extra json, -- fields the service sent that its document does not list
  valid_from timestamptz not null, -- when a pull first saw the row so
  valid_to timestamptz -- when a pull first saw it otherwise or gone; null while it holds
);
