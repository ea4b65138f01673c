-- grain: one row
-- title: Drift
-- order: 2
-- rules: drifted-workspace
-- unknown: unknown
-- sources: workspaces
-- about: Workspaces whose infrastructure differs from their configuration. NULL means not assessed. Unknown is never reported as clean.
with
  state as (
    select target, previous_as_of is not null as comparable
    from source_state_at($as_of)
    where source = 'workspaces' and as_of is not null
  ),
  compared as (
    select
      now.external_id is not null as present,
      now.drifted,
      now.resources_drifted,
      now.current_run_status in ('errored', 'discarded', 'canceled', 'force_canceled', 'policy_soft_failed') as stale_assessment,
      before.external_id is not null as was_present,
      before.drifted as was_drifted,
      coalesce(state.comparable, false) as comparable,
    from workspaces_at($as_of) as now
    full join workspaces_before($as_of) as before
      on before.target = now.target and before.external_id = now.external_id
    left join state on state.target = coalesce(now.target, before.target)
  ),
  counted as (
    select
      count(*) filter (present) as workspaces,
      count(*) filter (present and drifted) as drifted,
      count(*) filter (present and not drifted) as clean,
      count(*) filter (present and drifted is null) as unknown,
      coalesce(sum(resources_drifted) filter (present), 0) as resources_drifted,
      count(*) filter (comparable and present and drifted and was_drifted is distinct from true) as newly_drifted,
      count(*) filter (not comparable and present and drifted) as first_drifted,
      count(*) filter (present and was_drifted and not drifted) as resolved,
      count(*) filter (present and was_drifted and drifted) as still_drifted,
      count(*) filter (was_drifted and drifted is null) as no_longer_reported,
      count(*) filter (present and drifted and stale_assessment) as stale_assessments,
      count(*) filter (was_present) as workspaces_before,
      count(*) filter (was_drifted) as drifted_before,
      count(*) filter (was_present and not was_drifted) as clean_before,
      count(*) filter (was_present and was_drifted is null) as unknown_before,
      (select coalesce(bool_and(comparable), false) from state) as fully_comparable,
      (select not coalesce(bool_or(comparable), false) from state) as baseline,
    from compared
  )
select
  * exclude (fully_comparable) replace (
    case when fully_comparable then workspaces_before end as workspaces_before,
    case when fully_comparable then drifted_before end as drifted_before,
    case when fully_comparable then clean_before end as clean_before,
    case when fully_comparable then unknown_before end as unknown_before
  ),
  format('{} of {} workspaces drift', drifted, workspaces)
  || case when baseline then '' else format(': {} new, {} resolved', newly_drifted, resolved) end
  || case when unknown > 0 then format('; {} not assessed', unknown) else '' end as headline,
  case
    when not baseline
      then format('{} drifting = {} before', drifted, drifted_before)
      || case when first_drifted > 0 then format(' + {} in targets pulled for the first time', first_drifted) else '' end
      || format(' + {} new − {} resolved − {} no longer reported', newly_drifted, resolved, no_longer_reported)
  end as equation,
from counted;
