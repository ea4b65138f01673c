-- grain: one row per row that a saved view returns
-- key: view_id, row_id, ordinal
-- computed: position
-- part: view_id
-- source: saved_view_rows
-- volatile: yes
-- acted: platform.views view_id
create table if not exists saved_view_rows_history (
  target varchar not null, -- name of the target in tidemark.yaml
  view_id varchar, -- ID of the view
  position bigint, -- position of the row in the result, from 1
  row_id varchar, -- ID of the row
  ordinal bigint, -- 2, 3 and so on for further rows with the same ID; null for the first
  row_type varchar, -- type of the row
  attributes json, -- fields of the row, with snake_case names
  extra json, -- undocumented fields that the service returned
  valid_from timestamptz not null, -- time of the pull that first saw this version of the row
  valid_to timestamptz -- time of the pull that first saw another version, or none; null for the current version
);
