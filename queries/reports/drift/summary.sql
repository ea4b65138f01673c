-- grain: one row
-- title: Drift
-- order: 2
-- rules: drifted-workspace
-- unknown: unknown
-- sources: workspaces
-- about: Workspaces whose infrastructure differs from their configuration.
-- `drifting` is what the last assessment of each workspace says; `drifted` are those that were assessed now.
with
  state as (
    select target, status in ('complete', 'partial') as is_loaded, previous_as_of is not null as comparable
    from source_state_at($as_of)
    where source = 'workspaces' and as_of is not null
  ),
  compared as (
    select
      changes.*,
      known_drift(now.drifted, now.resources_drifted) as drifted,
      now.resources_drifted,
      coalesce(ended_unapplied(now.current_run_status), false) as stale_assessment,
      known_drift(before.drifted, before.resources_drifted) as drifted_then,
    from workspace_changes($as_of, null) as changes
    left join workspaces_at($as_of) as now using (target, external_id)
    left join workspaces_before($as_of) as before using (target, external_id)
  ),
  counted as (
    select
      count(*) filter (present) as workspaces,
      count(*) filter (present and is_drifting) as drifting,
      count(*) filter (present and is_drifting and drifted is null) as drifting_not_assessed,
      count(*) filter (present and drifted) as drifted,
      count(*) filter (present and not drifted) as clean,
      count(*) filter (present and drifted is null) as unknown,
      -- where one that drifts is not assessed now, the number may be too low, and 0 says nothing
      nullif(coalesce(sum(resources_drifted) filter (present and drifted is not null), 0), if(drifting_not_assessed > 0, 0, null)) as resources_drifted,
      count(*) filter (drift_change = 'new') as newly_drifted,
      count(*) filter (drift_change = 'returned') as returned,
      count(*) filter (drift_change = 'first') as first_drifted,
      count(*) filter (drift_change = 'resolved') as resolved,
      count(*) filter (drift_change = 'deleted') as deleted,
      count(*) filter (was_drifting and is_drifting) as still_drifted,
      count(*) filter (present and drifted and stale_assessment) as stale_assessments,
      count(*) filter (was_present) as workspaces_before,
      count(*) filter (was_drifting) as drifting_before,
      count(*) filter (was_present and not drifted_then) as clean_before,
      count(*) filter (was_present and drifted_then is null) as unknown_before,
      coalesce(bool_or(is_drifting is not null) filter (present), true) as is_known,
      coalesce(bool_or(was_drifting is not null) filter (was_present), true) as was_known,
      (select coalesce(bool_and(comparable), false) from state) as fully_comparable,
      (select not coalesce(bool_or(comparable), false) from state) as baseline,
      (select coalesce(bool_or(is_loaded), true) from state) as is_current,
    from compared
  )
select
  * exclude (fully_comparable, is_current, is_known, was_known) replace (
    if(is_known, drifting, null) as drifting,
    if(is_known, drifted, null) as drifted,
    if(is_known, clean, null) as clean,
    if(is_known, resources_drifted, null) as resources_drifted,
    if(is_known and is_current, newly_drifted, null) as newly_drifted,
    if(is_known and is_current, resolved, null) as resolved,
    if(is_known and is_current, returned, null) as returned,
    if(is_known and is_current, deleted, null) as deleted,
    case when fully_comparable then workspaces_before end as workspaces_before,
    case when fully_comparable and was_known then drifting_before end as drifting_before,
    case when fully_comparable and was_known then clean_before end as clean_before,
    case when fully_comparable then unknown_before end as unknown_before
  ),
  concat_ws(
    '; ',
    if(
      is_known,
      format('{:,} of {:,} {} {}', drifting, workspaces, if(workspaces = 1, 'workspace', 'workspaces'), if(workspaces = 1 or drifting = 1, 'drifts', 'drift')),
      if(workspaces = 1, 'It is not known whether the workspace drifts', format('It is not known which of {:,} workspaces drift', workspaces))
    )
    || if(drifting_not_assessed = 0, '', format(', {:,} of them not assessed now', drifting_not_assessed)),
    if(baseline or not is_known, null, coalesce(told_changes(newly_drifted, returned, resolved, deleted), 'nothing changed')),
    if(unknown = drifting_not_assessed or not is_known, null, format('{:,} {} not assessed now', unknown - drifting_not_assessed, if(drifting_not_assessed > 0, if(unknown - drifting_not_assessed = 1, 'other is', 'others are'), if(unknown = 1, 'is', 'are'))))
  ) as headline,
  case
    when not baseline and is_known and was_known and drifting + drifting_before + newly_drifted + returned > 0
      then format('{:,} drifting = {:,} before', drifting, drifting_before)
      || case when first_drifted > 0 then format(' + {:,} in targets pulled for the first time', first_drifted) else '' end
      || format(' + {:,} new + {:,} returned − {:,} resolved − {:,} deleted', newly_drifted, returned, resolved, deleted)
  end as equation,
from counted;
