-- grain: one row per day with a complete pull, over the last year
-- title: Per night
-- hidden: workspaces, checks_failed
-- labels: still=Still failing; newly_failing=New; returned=Returned; resolved=Resolved; deleted=Deleted; checks_failed=Failed checks
-- Sums up changes: each version of a workspace that is watched now counts from its valid_from until its valid_to. Each number but `still` is a change of that day.
with
  versions as (
    select
      *,
      coalesce(lag(is_failing) over following, false) and not began as was_open,
      coalesce(bool_or(is_failing) over (following rows between unbounded preceding and 1 preceding), false) as ever_open,
      lead(valid_from) over following is distinct from valid_to and valid_to <= $as_of::timestamptz as ended,
    from workspace_assessments
    where valid_from <= $as_of::timestamptz and target not in (from left_out_targets('workspaces', $as_of))
    window following as (partition by target, external_id order by valid_from)
  ),
  changes as (
    select valid_from as changed_at, 1 as sign, is_failing, checks_failed, checks_errored, checks_unknown from versions
    union all
    select valid_to, -1, is_failing, checks_failed, checks_errored, checks_unknown from versions where valid_to <= $as_of::timestamptz
  ),
  totals as (
    select
      changed_at,
      sum(sum(sign)) over (order by changed_at) as workspaces,
      sum(coalesce(sum(sign) filter (is_failing is not null), 0)) over (order by changed_at) as known,
      sum(coalesce(sum(sign) filter (is_failing), 0)) over (order by changed_at) as failing,
      sum(coalesce(sum(sign) filter (checks_errored > 0), 0)) over (order by changed_at) as errored,
      sum(coalesce(sum(sign) filter (checks_unknown > 0), 0)) over (order by changed_at) as not_assessed,
      sum(coalesce(sum(sign * checks_failed), 0)) over (order by changed_at) as checks_failed,
    from changes
    group by changed_at
  ),
  transitions as (
    select
      date_trunc('day', changed_at) as day,
      count(*) filter (change = 'new') as newly_failing,
      count(*) filter (change = 'returned') as returned,
      count(*) filter (change = 'resolved') as resolved,
      count(*) filter (change = 'deleted') as deleted,
    from (
      select valid_from as changed_at, if(ever_open, 'returned', 'new') as change
      from versions
      join first_pulls('workspaces') using (target)
      where is_failing and not was_open and valid_from > first_as_of
      union all
      select valid_from, 'resolved' from versions where is_failing is false and was_open
      union all
      select valid_to, 'deleted' from versions where is_failing and ended
    )
    group by day
  )
select
  days.pulled_at as as_of,
  totals.workspaces,
  -- where nothing was ever reported, no number is known
  if(totals.known = 0 and totals.workspaces > 0, null, totals.failing) as failing,
  if(totals.known = 0 and totals.workspaces > 0, null, totals.errored) as errored,
  if(totals.known = 0 and totals.workspaces > 0, null, totals.not_assessed) as not_assessed,
  if(totals.known = 0 and totals.workspaces > 0, null, totals.checks_failed) as checks_failed,
  coalesce(transitions.newly_failing, 0) as newly_failing,
  coalesce(transitions.returned, 0) as returned,
  coalesce(transitions.resolved, 0) as resolved,
  coalesce(transitions.deleted, 0) as deleted,
  failing - coalesce(transitions.newly_failing, 0) - coalesce(transitions.returned, 0) as still,
from pulled_nights('workspaces', $as_of) as days
asof join totals on days.pulled_at >= totals.changed_at
left join transitions on transitions.day = date_trunc('day', days.pulled_at)
order by as_of desc;
