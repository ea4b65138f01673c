-- grain: one row: 200 means alive, 503 means not
select
  status = 200 as alive,
  checked_at,
from read_json($files, format = 'newline_delimited', columns = {status: 'BIGINT', checked_at: 'TIMESTAMPTZ'})
