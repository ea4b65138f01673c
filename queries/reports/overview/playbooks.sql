-- grain: one row per playbook with findings that it could act on
-- title: Available playbooks
-- about: Playbooks that can act on open findings. `tidemark playbook plan NAME` shows the actions; a plan is applied only after its approval.
-- empty: No playbook can act on an open finding.
-- labels: playbook=Playbook; subjects=Findings; what=What it does; can_be_undone=Can be undone; oldest_at=Oldest finding
with
  playbooks as (
    select unnest(from_json(
      $playbooks,
      '[{"playbook": "VARCHAR", "rule": "VARCHAR", "about": "VARCHAR", "reversible": "BOOLEAN"}]'
    ), recursive := true)
  ),
  state_then as (
    select finding_id, rule, arg_max(state, changed_at) as state, min(changed_at) as found_at
    from finding_events
    where changed_at <= $as_of::timestamptz
    group by finding_id, rule
  )
select
  playbooks.playbook,
  count(*) as subjects,
  playbooks.about as what,
  playbooks.reversible as can_be_undone,
  min(state_then.found_at) as oldest_at,
  playbooks.rule,
from playbooks
join state_then using (rule)
where state_then.state in ('new', 'open')
group by all
order by subjects desc, playbooks.playbook;
