-- grain: one row
-- latest, next: the last run of the warehouse, and the first one that the lake does not have, null for none; after: the time up to which the
-- lake has runs of this writer and none is missing, -infinity for none; is_late: a run is missing before the last one that the lake has, as
-- where a landing was loaded again; last, last_of_all: the last publish of this writer and of any; is_ahead: the lake has a run that the
-- warehouse does not have; is_shared: other writers have published
-- parameters: $whole_since: a run of before the history is published only with a new lake
with
  own as (from lake_runs where is_own),
  missing as (
    select min(started_at) as next
    from runs
    where
      started_at > coalesce((select max(as_of) from own), '-infinity')
      or (
        started_at >= $whole_since::timestamptz
        and run_id not in (select run_id from lake_runs_changes where run_id is not null and publish in (select publish from own))
      )
  )
select
  (select max(started_at) from runs) as latest,
  next,
  (select coalesce(max(as_of), '-infinity') from own where as_of < coalesce(next, 'infinity')) as after,
  coalesce(next <= (select max(as_of) from own), false) as is_late,
  (select coalesce(max(publish), 0) from own)::bigint as last,
  (select coalesce(max(publish), 0) from lake_runs)::bigint as last_of_all,
  exists (from own where as_of not in (select started_at from runs)) as is_ahead,
  exists (from lake_runs where not is_own) as is_shared
from missing;
