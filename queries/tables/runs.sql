-- grain: one row per run of a job or of a pull
create table if not exists runs (
  run_id varchar not null, -- ID of the run: its UTC start, with a counter when two share a second
  target varchar, -- targets of the run, comma-separated
  job varchar, -- job, or `pull`
  status varchar not null, -- `running`, `complete`, `incomplete`, `failed` or `interrupted`
  started_at timestamptz not null, -- start; also the `valid_from` of what the run changed
  finished_at timestamptz -- end; null while it runs
);
