-- grain: one row per finding that was known at a time, with what changed since an earlier one
-- {{scope}}: empty, or `temp ` for one connection; since_time: null where there is nothing to compare with
-- The definitions that every page, the mail and saved queries ask. A change is null where nothing changed, or
--   `assessed for the first time`, `new`, `returned` (it was resolved before), `no longer accepted`, `resolved`, `deleted` (its subject is
--   no longer there), `no longer watched` (the configuration leaves it out, or its rule is gone), `accepted`, `got worse` and `got milder` (it
--   was open and is, with another severity). A finding that cannot be assessed stays open.
-- opened_at: when it was found, or found again, the last time until then; state_since: of the last event that tells a state and not a severity alone
-- defined: after the views, and where it is missing
create or replace {{scope}}macro finding_states_at(at_time, since_time) as table
with
  states as (
    select
      finding_id,
      arg_max(state, changed_at) as state,
      arg_max(severity, changed_at) as severity,
      arg_max(reason, changed_at) as reason,
      arg_min(reason, changed_at) as first_reason,
      min(changed_at) as found_at,
      max(changed_at) as changed_at,
      max(changed_at) filter (reason <> 'severity changed') as state_since,
      max(changed_at) filter (reason in ('baseline', 'found', 'reopened')) as opened_at,
      arg_max(state, changed_at) filter (changed_at <= since_time::timestamptz) as state_before,
      arg_max(severity, changed_at) filter (changed_at <= since_time::timestamptz) as severity_before,
      coalesce(bool_or(reason = 'baseline') filter (changed_at > since_time::timestamptz), false) as is_baseline,
    from finding_events
    where changed_at <= at_time::timestamptz
    group by finding_id
  ),
  opened as (
    select *, state in ('new', 'open') as is_open, coalesce(state_before in ('new', 'open'), false) as was_open
    from states
  )
select
  *,
  case
    when since_time is null then null
    when is_open and state_before is null and is_baseline then 'assessed for the first time'
    when is_open and state_before is null then 'new'
    when is_open and state_before = 'resolved' then 'returned'
    when is_open and state_before = 'accepted' then 'no longer accepted'
    when state = 'resolved' and reason = 'left out' and state_before <> 'resolved' then 'no longer watched'
    when state = 'resolved' and reason = 'deleted' and state_before <> 'resolved' then 'deleted'
    when state = 'resolved' and state_before <> 'resolved' then 'resolved'
    when was_open and state = 'accepted' then 'accepted'
    when was_open and is_open and severity <> severity_before
      then if(list_position(['info', 'warning', 'critical'], severity) > list_position(['info', 'warning', 'critical'], severity_before), 'got worse', 'got milder')
  end as change,
from opened;
