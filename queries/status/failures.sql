-- grain: one row per target and source whose last pull is not complete
-- error: why, or what it lacks; failure: the parts of an error of the service
-- A warehouse has no column `failure` before the first pull of this version: the name is then the null beside the subquery.
select
  state.target,
  state.source,
  state.error,
  (
    select arg_max(failure, run_id)
    from pulls
    where pulls.target = state.target and pulls.source = state.source and pulls.as_of = state.tried_at
  ) as failure,
from source_state as state
cross join (select null::json as failure) as absent
where state.error is not null
order by state.target, state.source;
