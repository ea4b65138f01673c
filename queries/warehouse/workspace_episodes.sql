-- grain: one row per workspace that was seen until a time: since when it has drifted and failed its checks the last time, and how often it had done so before
-- {{scope}}: empty, or `temp ` for one connection
-- A version without an assessment begins and ends nothing.
-- defined: after the views, and where it is missing
create or replace {{scope}}macro workspace_episodes(at_time) as table
with
  assessed as (
    select
      target,
      external_id,
      valid_from,
      is_drifting and (began or lag(is_drifting) over earlier is not true) as begins_to_drift,
      is_failing and (began or lag(is_failing) over earlier is not true) as begins_to_fail,
    from workspace_assessments
    where valid_from <= at_time::timestamptz
    window earlier as (partition by target, external_id order by valid_from)
  )
select
  target,
  external_id,
  max(valid_from) filter (begins_to_drift) as drifting_since,
  count(*) filter (begins_to_drift) - 1 as drifts_before,
  max(valid_from) filter (begins_to_fail) as failing_since,
  count(*) filter (begins_to_fail) - 1 as failures_before,
from assessed
group by target, external_id;
