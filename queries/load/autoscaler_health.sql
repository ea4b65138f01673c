-- grain: one row per autoscaler; a success status means alive, 503 and a refused connection (null) mean not
select
  coalesce(status between 200 and 299, false) as alive,
  checked_at,
  null as extra,
from read_json($files, format = 'newline_delimited', records = true, columns = {status: 'BIGINT', checked_at: 'TIMESTAMPTZ'})
