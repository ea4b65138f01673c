-- grain: one row
-- title: Findings
-- about: The open findings of this report and their change since the previous run.
-- `open_findings` = `open_before` + `first_assessed` + `appeared` + `returned` + `unaccepted` − `resolved` − `deleted` − `left_out` − `newly_accepted`
with
  runs_at as (from previous_run_at($as_of)),
  states as (
    select states.*, findings.unassessed_since <= $as_of::timestamptz as is_unassessed
    from finding_states_at($as_of, (select previous_as_of from runs_at)) as states
    join findings using (finding_id)
    where list_has_any(from_json($rules, '["VARCHAR"]'), [findings.rule, 'all'])
  ),
  evaluations as (
    select count(*) > 0 as assessed, max(last_assessed_at) as assessed_at
    from rule_evaluations as evaluations
    where
      first_assessed_at <= $as_of::timestamptz
      and list_has_any(from_json($rules, '["VARCHAR"]'), [evaluations.rule, 'all'])
  ),
  gaps as (
    select count(distinct rule) as unassessed
    from unassessed_rules as gaps
    where
      since <= $as_of::timestamptz
      and coalesce(ended_at > $as_of::timestamptz, true)
      and list_has_any(from_json($rules, '["VARCHAR"]'), [gaps.rule, 'all'])
  ),
  counted as (
    select
      count(*) filter (is_open) as open_findings,
      count(*) filter (is_open and severity = 'critical') as critical,
      count(*) filter (is_open and severity = 'warning') as warning,
      count(*) filter (is_open and severity = 'info') as info,
      count(*) filter (is_open and is_unassessed) as not_assessed_now,
      count(*) filter (state = 'accepted') as accepted,
      count(*) filter (was_open) as open_before,
      count(*) filter (change = 'assessed for the first time') as first_assessed,
      count(*) filter (change = 'new') as appeared,
      count(*) filter (change = 'returned') as returned,
      count(*) filter (change = 'no longer accepted') as unaccepted,
      count(*) filter (change = 'resolved' and was_open) as resolved,
      count(*) filter (change = 'deleted' and was_open) as deleted,
      count(*) filter (change = 'no longer watched' and was_open) as left_out,
      count(*) filter (change = 'accepted') as newly_accepted,
      count(*) filter (change = 'got worse') as worse,
      min(changed_at) filter (change is not null) as first_change_at,
      min(found_at) filter (is_open and severity = 'critical') as oldest_critical_at,
    from states
  )
select
  counted.*,
  unassessed,
  assessed,
  -- a pull that no evaluation followed says nothing about its subjects
  coalesce(assessed and unassessed = 0 and not assessed_at < runs_at.current_as_of, false) as is_known,
  runs_at.previous_as_of as compared_with,
  case
    when critical > 0 then 'critical'
    when warning > 0 then 'warning'
    when not is_known then 'unknown'
    else 'ok'
  end as state,
  case
    when critical > 0 then format('{:,} critical', critical)
    when warning > 0 then format('{:,} {}', warning, if(warning = 1, 'warning', 'warnings'))
  end as badge,
  case
    -- that nothing became nothing is no news
    when runs_at.previous_as_of is not null and assessed and open_findings + open_before + appeared + returned + resolved > 0
      then format('{:,} open = {:,} before', open_findings, open_before)
      || case when first_assessed > 0 then format(' + {:,} assessed for the first time', first_assessed) else '' end
      || format(' + {:,} new + {:,} returned', appeared, returned)
      || case when unaccepted > 0 then format(' + {:,} no longer accepted', unaccepted) else '' end
      || format(' − {:,} resolved − {:,} deleted', resolved, deleted)
      || case when left_out > 0 then format(' − {:,} no longer watched', left_out) else '' end
      || case when newly_accepted > 0 then format(' − {:,} accepted', newly_accepted) else '' end
  end as equation,
from counted, evaluations, gaps, runs_at;
