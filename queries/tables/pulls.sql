-- grain: one row per run, target and source
create table if not exists pulls (
  run_id varchar not null, -- run
  target varchar not null, -- name of the target in tidemark.yaml
  source varchar not null, -- source; bears the name of its main table
  status varchar not null, -- `complete`, `failed` or `quarantined`; only complete pulls change tables
  rows bigint, -- rows pulled over the source's tables' main one
  expected_rows bigint, -- rows the service said there are; null when it does not say
  requests bigint, -- requests sent, repeats included
  retries bigint, -- requests repeated
  waited_ms bigint, -- milliseconds waited for limits and back-off
  bytes bigint, -- bytes received
  started_at timestamptz not null, -- start of the extraction
  finished_at timestamptz, -- end of the load
  error varchar, -- why it is not complete, one line
  as_of timestamptz not null, -- the time that the rows are valid from
  landed_at timestamptz, -- when the rows were asked for: before as_of where an earlier landing was loaded again
  turned_away bigint -- answers with status 429
);
