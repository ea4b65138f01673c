-- grain: one row per run, target and source
-- identity: run_id, target, source
-- logged_at: as_of
-- written_once: yes
create table if not exists pulls (
  run_id varchar not null, -- run
  target varchar not null, -- name of the target in tidemark.yaml
  source varchar not null, -- source; has the name of its main table
  status varchar not null, -- `complete`; `partial` when some parts could not be listed; `failed` or `quarantined`, which change no table; `left-out` when the configuration leaves the source out; `unsupported` when the service cannot answer it (`explorer: workspaces`)
  rows bigint, -- rows of the source's main table
  expected_rows bigint, -- rows that the service reports; null if it reports none
  requests bigint, -- requests sent, including retries
  retries bigint, -- requests retried
  throttle_wait_ms bigint, -- milliseconds waited for rate limits and backoff
  bytes bigint, -- bytes received
  started_at timestamptz not null, -- start of the extraction
  finished_at timestamptz, -- end of the load
  error varchar, -- why it is not complete, one line
  as_of timestamptz not null, -- the time that the rows are valid from
  extracted_at timestamptz, -- when the rows were extracted; earlier than as_of if an earlier landing was loaded
  throttled bigint, -- responses with status 429
  note varchar, -- what a reader of the rows should know although they are loaded, such as a plugin that could not list
  reused bigint, -- objects that are proven to be as the last pull read them, and were taken from it
  inserted bigint, -- rows of the source's main table that it added; null if nothing was loaded
  changed bigint, -- rows of the source's main table that it changed; null if nothing was loaded
  deleted bigint, -- rows of the source's main table that it ended; null if nothing was loaded
  failure json, -- the parts of an error of the service, {reason, permission, path}: sources of a target with the same reason failed alike; permission is one that the token may lack
  unknown_parts json, -- what could not be listed: a list of {column, value, reason, isUnsupported, isColumn}; rows with this value in this column are left as they were, and a whole column is null
  origin json -- where loaded rows come from, {place, installation}: what the target referred to, and what the service said that it is; null where nothing was loaded
);
