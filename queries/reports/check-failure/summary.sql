-- grain: one row
-- title: Check failures
-- order: 3
-- rules: failing-checks, errored-checks
-- unknown: unknown, not_reported
-- sources: workspaces
-- about: Workspaces whose continuous checks fail, end with an error or cannot be assessed. Unknown is never reported as passed.
with
  state as (
    select target, status in ('complete', 'partial') as is_loaded, previous_as_of is not null as comparable
    from source_state_at($as_of)
    where source = 'workspaces' and as_of is not null
  ),
  compared as (
    select
      changes.*,
      now.checks_failed,
      now.checks_errored,
      now.checks_unknown,
      now.checks_passed,
      ended_unapplied(now.current_run_status) as stale_assessment,
      before.checks_failed as failed_before,
      before.checks_errored as errored_before,
      before.checks_unknown as unknown_before,
    from workspace_changes($as_of, null) as changes
    left join workspaces_at($as_of) as now using (target, external_id)
    left join workspaces_before($as_of) as before using (target, external_id)
  ),
  counted as (
    select
      count(*) filter (present) as workspaces,
      count(*) filter (present and is_failing) as failing,
      count(*) filter (checks_errored > 0) as errored,
      count(*) filter (checks_unknown > 0) as unknown,
      -- where one that fails is not assessed now, the number may be too low, and 0 says nothing
      nullif(
        coalesce(sum(checks_failed), 0),
        if(bool_or(present and is_failing and known_failing(checks_failed, checks_unknown) is null), 0, null)
      ) as checks_failed,
      coalesce(sum(checks_errored), 0) as checks_errored,
      count(*) filter (
        checks_failed = 0 and checks_errored = 0 and checks_unknown = 0 and checks_passed = 0
      ) as without_checks,
      count(*) filter (failing_change = 'new') as newly_failing,
      count(*) filter (failing_change = 'returned') as returned,
      count(*) filter (failing_change = 'first') as first_failing,
      count(*) filter (failing_change = 'resolved') as resolved,
      count(*) filter (failing_change = 'deleted') as deleted,
      count(*) filter (was_failing and is_failing) as still_failing,
      count(*) filter (present and checks_failed is null) as not_reported,
      count(*) filter (checks_failed > 0 and stale_assessment) as stale_assessments,
      count(*) filter (was_failing) as failing_before,
      count(*) filter (errored_before > 0) as errored_before,
      count(*) filter (unknown_before > 0) as unknown_before,
      coalesce(sum(failed_before), 0) as checks_failed_before,
      coalesce(bool_or(is_failing is not null) filter (present), true) as is_known,
      coalesce(bool_or(was_failing is not null) filter (was_present), true) as was_known,
      (select coalesce(bool_and(comparable), false) from state) as fully_comparable,
      (select not coalesce(bool_or(comparable), false) from state) as baseline,
      (select coalesce(bool_or(is_loaded), true) from state) as is_current,
    from compared
  )
select
  * exclude (fully_comparable, is_current, is_known, was_known) replace (
    if(is_known, failing, null) as failing,
    if(is_known, errored, null) as errored,
    if(is_known, unknown, null) as unknown,
    if(is_known, checks_failed, null) as checks_failed,
    if(is_known, without_checks, null) as without_checks,
    if(is_known and is_current, newly_failing, null) as newly_failing,
    if(is_known and is_current, resolved, null) as resolved,
    if(is_known and is_current, returned, null) as returned,
    if(is_known and is_current, deleted, null) as deleted,
    case when fully_comparable and was_known then failing_before end as failing_before,
    case when fully_comparable and was_known then errored_before end as errored_before,
    case when fully_comparable and was_known then unknown_before end as unknown_before,
    case when fully_comparable and was_known then checks_failed_before end as checks_failed_before
  ),
  concat_ws(
    '; ',
    if(
      is_known,
      format('{:,} of {:,} {} {} checks', failing, workspaces, if(workspaces = 1, 'workspace', 'workspaces'), if(workspaces = 1 or failing = 1, 'fails its', 'fail their')),
      if(workspaces = 1, 'It is not known whether the workspace fails its checks', format('It is not known which of {:,} workspaces fail their checks', workspaces))
    ),
    if(baseline or not is_known, null, coalesce(told_changes(newly_failing, returned, resolved, deleted), 'nothing changed')),
    if(errored = 0 or not is_known, null, format('{:,} with errored checks', errored))
  ) as headline,
  case
    when not baseline and is_known and was_known and failing + failing_before + newly_failing + returned > 0
      then format('{:,} failing = {:,} before', failing, failing_before)
      || case when first_failing > 0 then format(' + {:,} in targets pulled for the first time', first_failing) else '' end
      || format(' + {:,} new + {:,} returned − {:,} resolved − {:,} deleted', newly_failing, returned, resolved, deleted)
  end as equation,
from counted;
