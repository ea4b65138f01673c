-- Whether a run of a status has ended and applied nothing; null for a status that is not reported, or not known. {{scope}} as for semver_key.
-- defined: after the views, and where it is missing
create or replace {{scope}}macro ended_unapplied(status) as case
  when status in ('errored', 'discarded', 'canceled', 'force_canceled', 'policy_soft_failed') then true
  when status in (
    'pending', 'queuing', 'fetching', 'fetching_completed', 'pre_plan_running', 'pre_plan_completed', 'plan_queued', 'planning', 'planned',
    'post_plan_running', 'post_plan_awaiting_decision', 'post_plan_completed', 'cost_estimating', 'cost_estimated', 'policy_checking',
    'policy_override', 'policy_checked', 'planned_and_finished', 'planned_and_saved', 'confirmed', 'queuing_apply', 'apply_queued',
    'pre_apply_running', 'pre_apply_completed', 'applying', 'applied', 'post_apply_running', 'post_apply_completed'
  ) then false
end;
