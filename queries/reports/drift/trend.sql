-- grain: one row per day with a complete pull, over the last year
-- title: Per night
-- hidden: workspaces, drifted, resources_drifted
-- labels: still=Still drifting; newly_drifted=New; returned=Returned; resolved=Resolved; deleted=Deleted; drifted=Assessed and drifting; resources_drifted=Resources
-- Sums up changes: each version of a workspace that is watched now counts from its valid_from until its valid_to. Each number but `still` is a change of that day.
with
  versions as (
    select
      *,
      coalesce(lag(is_drifting) over following, false) and not began as was_open,
      coalesce(bool_or(is_drifting) over (following rows between unbounded preceding and 1 preceding), false) as ever_open,
      lead(valid_from) over following is distinct from valid_to and valid_to <= $as_of::timestamptz as ended,
    from workspace_assessments
    where valid_from <= $as_of::timestamptz and target not in (from left_out_targets('workspaces', $as_of))
    window following as (partition by target, external_id order by valid_from)
  ),
  changes as (
    select valid_from as changed_at, 1 as sign, is_drifting, assessed_drift, resources_drifted from versions
    union all
    select valid_to, -1, is_drifting, assessed_drift, resources_drifted from versions where valid_to <= $as_of::timestamptz
  ),
  totals as (
    select
      changed_at,
      sum(sum(sign)) over (order by changed_at) as workspaces,
      sum(coalesce(sum(sign) filter (is_drifting is not null), 0)) over (order by changed_at) as known,
      sum(coalesce(sum(sign) filter (is_drifting), 0)) over (order by changed_at) as drifting,
      sum(coalesce(sum(sign) filter (assessed_drift), 0)) over (order by changed_at) as drifted,
      sum(coalesce(sum(sign) filter (assessed_drift is null), 0)) over (order by changed_at) as not_assessed,
      sum(coalesce(sum(sign * resources_drifted) filter (assessed_drift is not null), 0)) over (order by changed_at) as resources_drifted,
    from changes
    group by changed_at
  ),
  transitions as (
    select
      date_trunc('day', changed_at) as day,
      count(*) filter (change = 'new') as newly_drifted,
      count(*) filter (change = 'returned') as returned,
      count(*) filter (change = 'resolved') as resolved,
      count(*) filter (change = 'deleted') as deleted,
    from (
      select valid_from as changed_at, if(ever_open, 'returned', 'new') as change
      from versions
      join first_pulls('workspaces') using (target)
      where is_drifting and not was_open and valid_from > first_as_of
      union all
      select valid_from, 'resolved' from versions where is_drifting is false and was_open
      union all
      select valid_to, 'deleted' from versions where is_drifting and ended
    )
    group by day
  )
select
  days.pulled_at as as_of,
  totals.workspaces,
  -- where nothing was ever assessed, no number is known
  if(totals.known = 0 and totals.workspaces > 0, null, totals.drifting) as drifting,
  if(totals.known = 0 and totals.workspaces > 0, null, totals.drifted) as drifted,
  totals.not_assessed,
  -- where one that drifts is not assessed, 0 says nothing
  if(totals.known = 0 and totals.workspaces > 0, null, nullif(totals.resources_drifted, if(totals.drifting > totals.drifted, 0, null))) as resources_drifted,
  coalesce(transitions.newly_drifted, 0) as newly_drifted,
  coalesce(transitions.returned, 0) as returned,
  coalesce(transitions.resolved, 0) as resolved,
  coalesce(transitions.deleted, 0) as deleted,
  drifting - coalesce(transitions.newly_drifted, 0) - coalesce(transitions.returned, 0) as still,
from pulled_nights('workspaces', $as_of) as days
asof join totals on days.pulled_at >= totals.changed_at
left join transitions on transitions.day = date_trunc('day', days.pulled_at)
order by as_of desc;
