-- grain: one row per workspace that was seen until a time, with what changed since an earlier one
-- {{scope}}: empty, or `temp ` for one connection; since_time: null for the previous complete pull of each target; of a target whose last
-- pull was not loaded, nothing is known to have changed since
-- The definitions that every page, the mail and saved queries ask. A change is null where nothing changed, or
--   `first`: in the first pull of its target; `new`: not before, and never; `returned`: not before, but earlier, or not watched before;
--   `resolved`: assessed, and no longer; `deleted`: the workspace is no longer there.
-- defined: after the views, and where it is missing
create or replace {{scope}}macro workspace_changes(at_time, since_time) as table
with
  times as (
    select
      state.target,
      coalesce(since_time::timestamptz, if(state.status in ('complete', 'partial'), state.previous_as_of, state.as_of)) as before_at,
      if(since_time is null, before_at, before.as_of) is not null as comparable,
    from source_state_at(at_time) as state
    left join source_state_at(since_time) as before on before.target = state.target and before.source = state.source
    where state.source = 'workspaces' and state.as_of is not null
  ),
  versions as (
    select
      history.*,
      comparable,
      before_at,
      valid_to is null or valid_to > at_time::timestamptz as is_now,
      comparable and valid_from <= before_at and (valid_to is null or valid_to > before_at) as is_before,
    from workspace_assessments as history
    join times using (target)
    where valid_from <= at_time::timestamptz
  ),
  compared as (
    select
      target,
      external_id,
      bool_or(comparable) as comparable,
      bool_or(is_now) as present,
      bool_or(is_before) as was_present,
      any_value(is_drifting) filter (is_now) as is_drifting,
      any_value(is_drifting) filter (is_before) as was_drifting,
      coalesce(bool_or(is_drifting) filter (valid_from <= before_at), false) as ever_drifted,
      any_value(is_failing) filter (is_now) as is_failing,
      any_value(is_failing) filter (is_before) as was_failing,
      coalesce(bool_or(is_failing) filter (valid_from <= before_at), false) as ever_failed,
    from versions
    group by target, external_id
  )
select
  *,
  case
    when is_drifting and not comparable and not ever_drifted then 'first'
    when is_drifting and was_drifting is not true then if(ever_drifted, 'returned', 'new')
    when was_drifting and is_drifting is false then 'resolved'
    when was_drifting and is_drifting is null then 'deleted'
  end as drift_change,
  case
    when is_failing and not comparable and not ever_failed then 'first'
    when is_failing and was_failing is not true then if(ever_failed, 'returned', 'new')
    when was_failing and is_failing is false then 'resolved'
    when was_failing and is_failing is null then 'deleted'
  end as failing_change,
from compared;
