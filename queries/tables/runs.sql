-- grain: one row per run of a job or of a pull
-- identity: run_id
-- logged_at: started_at
create table if not exists runs (
  run_id varchar not null, -- ID of the run: its start in UTC, with a counter for runs in the same second
  target varchar, -- targets of the run, comma-separated
  job varchar, -- job, or `pull`
  status varchar not null, -- `running`, `complete`, `incomplete`, `failed` or `interrupted` (before everything that it promised was done)
  started_at timestamptz not null, -- start of the run; also the `valid_from` of its changes
  finished_at timestamptz -- end of the run; null while it runs
);
