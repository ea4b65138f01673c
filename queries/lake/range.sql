-- grain: one row
-- latest, next: the last run of the warehouse, and the first one that the lake does not have, null for none; after: the time up to which the
-- lake has runs of this writer, -infinity for none; last, last_of_all: the last publish of this writer and of any; is_ahead: the lake has a run that the
-- warehouse does not have; is_shared: other writers have published
select
  (select max(started_at) from runs) as latest,
  (select min(started_at) from runs where started_at > coalesce((select max(as_of) from lake_runs where is_own), '-infinity')) as next,
  (select coalesce(max(as_of), '-infinity') from lake_runs where is_own) as after,
  (select coalesce(max(publish), 0) from lake_runs where is_own)::bigint as last,
  (select coalesce(max(publish), 0) from lake_runs)::bigint as last_of_all,
  exists (from lake_runs where is_own and as_of not in (select started_at from runs)) as is_ahead,
  exists (from lake_runs where not is_own) as is_shared
