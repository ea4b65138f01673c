-- grain: one row per autoscaler; a success status means alive, 503 means not
select
  status between 200 and 299 as alive,
  checked_at,
from read_json($files, format = 'newline_delimited', columns = {status: 'BIGINT', checked_at: 'TIMESTAMPTZ'})
