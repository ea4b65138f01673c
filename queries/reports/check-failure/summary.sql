-- grain: one row
-- title: Check failures
-- order: 3
-- rules: failing-checks, errored-checks
-- unknown: unknown, not_reported
-- sources: workspaces
-- about: Workspaces whose continuous checks fail, end with an error or cannot be assessed. Unknown is never reported as passed.
with
  state as (
    select target, previous_as_of is not null as comparable
    from source_state_at($as_of)
    where source = 'workspaces' and as_of is not null
  ),
  compared as (
    select
      now.external_id is not null as present,
      now.checks_failed,
      now.checks_errored,
      now.checks_unknown,
      now.checks_passed,
      now.current_run_status in ('errored', 'discarded', 'canceled', 'force_canceled', 'policy_soft_failed') as stale_assessment,
      before.external_id is not null as was_present,
      before.checks_failed as failed_before,
      before.checks_errored as errored_before,
      before.checks_unknown as unknown_before,
      coalesce(state.comparable, false) as comparable,
    from workspaces_at($as_of) as now
    full join workspaces_before($as_of) as before
      on before.target = now.target and before.external_id = now.external_id
    left join state on state.target = coalesce(now.target, before.target)
  ),
  counted as (
    select
      count(*) filter (present) as workspaces,
      count(*) filter (checks_failed > 0) as failing,
      count(*) filter (checks_errored > 0) as errored,
      count(*) filter (checks_unknown > 0) as unknown,
      coalesce(sum(checks_failed), 0) as checks_failed,
      coalesce(sum(checks_errored), 0) as checks_errored,
      count(*) filter (
        checks_failed = 0 and checks_errored = 0 and checks_unknown = 0 and checks_passed = 0
      ) as without_checks,
      count(*) filter (comparable and checks_failed > 0 and (failed_before > 0) is distinct from true) as newly_failing,
      count(*) filter (not comparable and checks_failed > 0) as first_failing,
      count(*) filter (failed_before > 0 and checks_failed = 0) as resolved,
      count(*) filter (failed_before > 0 and checks_failed > 0) as still_failing,
      count(*) filter (failed_before > 0 and checks_failed is null) as no_longer_reported,
      count(*) filter (present and checks_failed is null) as not_reported,
      count(*) filter (checks_failed > 0 and stale_assessment) as stale_assessments,
      count(*) filter (failed_before > 0) as failing_before,
      count(*) filter (errored_before > 0) as errored_before,
      count(*) filter (unknown_before > 0) as unknown_before,
      coalesce(sum(failed_before), 0) as checks_failed_before,
      (select coalesce(bool_and(comparable), false) from state) as fully_comparable,
      (select not coalesce(bool_or(comparable), false) from state) as baseline,
    from compared
  )
select
  * exclude (fully_comparable) replace (
    case when fully_comparable then failing_before end as failing_before,
    case when fully_comparable then errored_before end as errored_before,
    case when fully_comparable then unknown_before end as unknown_before,
    case when fully_comparable then checks_failed_before end as checks_failed_before
  ),
  format('{} of {} workspaces fail their checks', failing, workspaces)
  || case when baseline then '' else format(': {} new, {} resolved', newly_failing, resolved) end
  || case when errored > 0 then format('; {} with errored checks', errored) else '' end as headline,
  case
    when not baseline
      then format('{} failing = {} before', failing, failing_before)
      || case when first_failing > 0 then format(' + {} in targets pulled for the first time', first_failing) else '' end
      || format(' + {} new − {} resolved − {} no longer reported', newly_failing, resolved, no_longer_reported)
  end as equation,
from counted;
