-- grain: one row
-- title: Overview
-- order: 1
-- rules: all
-- sources: lifecycle
-- about: The open findings, worst first, then the metrics of every area.
with
  state_then as (from finding_states_at($as_of, null)),
  counted as (
    select
      count(*) filter (state in ('new', 'open')) as findings_open,
      count(*) filter (state = 'new') as findings_new,
      count(*) filter (state in ('new', 'open') and severity = 'critical') as critical,
      count(*) filter (state in ('new', 'open') and severity = 'warning') as warning,
      count(*) filter (state in ('new', 'open') and severity = 'info') as info,
      count(*) filter (state = 'accepted') as accepted,
      -- a rule that several targets lack is one, as in mails
      (
        select count(distinct rule)
        from unassessed_rules
        where since <= $as_of::timestamptz and coalesce(ended_at > $as_of::timestamptz, true)
      ) as unassessed,
      exists (from rule_evaluations where first_assessed_at <= $as_of::timestamptz)
      or exists (from unassessed_rules where since <= $as_of::timestamptz) as assessed,
    from state_then
  ),
  -- a pull that no evaluation followed says nothing about its subjects
  waits as (
    select coalesce(max(last_assessed_at) < any_value(current_as_of), false) as waits
    from previous_run_at($as_of)
    left join rule_evaluations on true
  ),
  judged as (select counted.*, waits, if(unassessed > 0 or waits, ' is known', '') as doubt from counted, waits)
select
  * exclude (waits, doubt),
  ($summaries::json ->> '$."drift"."drifting"')::bigint as drifting,
  ($summaries::json ->> '$."drift"."drifting_before"')::bigint as drifting_before,
  ($summaries::json ->> '$."drift"."newly_drifted"')::bigint as newly_drifted,
  ($summaries::json ->> '$."version-sprawl"."workspaces_behind"')::bigint as workspaces_behind,
  ($summaries::json ->> '$."version-sprawl"."workspaces_behind_before"')::bigint as workspaces_behind_before,
  ($summaries::json ->> '$."check-failure"."failing"')::bigint as failing,
  ($summaries::json ->> '$."check-failure"."failing_before"')::bigint as failing_before,
  ($summaries::json ->> '$."check-failure"."newly_failing"')::bigint as newly_failing,
  ($summaries::json ->> '$."cost"."resources"')::bigint as resources,
  ($summaries::json ->> '$."cost"."resources_before"')::bigint as resources_before,
  ($summaries::json ->> '$."agent-health"."pools_without_live_agents"')::bigint as pools_without_live_agents,
  ($summaries::json ->> '$."agent-health"."pools_without_live_agents_before"')::bigint as pools_without_live_agents_before,
  concat_ws(
    '; ',
    case
      when not assessed then null
      when critical > 0 then format('{:,} critical {} open, {:,} {}', critical, if(critical = 1, 'finding', 'findings'), warning, if(warning = 1, 'warning', 'warnings'))
      when warning > 0 then format('No critical finding{}; {:,} {} open', doubt, warning, if(warning = 1, 'warning', 'warnings'))
      else format('No critical finding or warning{}; {:,} info', doubt, info)
    end,
    nullif(
      concat_ws(
        ', ',
        format('{:,} drifting', ($summaries::json ->> '$."drift"."drifting"')::bigint),
        format('{:,} failing checks', ($summaries::json ->> '$."check-failure"."failing"')::bigint),
        case ($summaries::json ->> '$."agent-health"."pools_without_live_agents"')::bigint
          when 1 then '1 pool without a live agent'
          else format('{:,} pools without a live agent', ($summaries::json ->> '$."agent-health"."pools_without_live_agents"')::bigint)
        end
      ),
      ''
    ),
    case when unassessed > 0 then format('{:,} {} not assessed', unassessed, if(unassessed = 1, 'rule', 'rules')) end,
    case when assessed and waits then 'not evaluated since the last pull' end
  ) as headline,
from judged;
