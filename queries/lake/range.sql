-- grain: one row: the time up to which the warehouse has runs, null for none; the time up to which the lake has them; and whether the
-- lake has a run that the warehouse does not have
select
  (select max(started_at) from runs) as latest,
  (select max(as_of) from lake_runs) as published,
  exists (
    from lake_runs
    where as_of is not null and as_of not in (select started_at from runs)
  ) as is_ahead,
