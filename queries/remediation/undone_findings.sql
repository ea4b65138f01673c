-- grain: one row per undo with findings that are to be accepted: they are new or open, and were not accepted since. $now
with
  undone as (
    select
      plan_id,
      action_id,
      started_at,
      finished_at,
      approved_by as owner,
      try_cast(entry -> 'accepts' ->> 'until' as timestamptz) as until,
      unnest((entry -> 'accepts' -> 'finding_ids')::varchar[]) as finding_id,
    from actions
    where (entry ->> 'satisfied')::boolean
  ),
  wanted as (
    select undone.*
    from undone
    join findings on findings.finding_id = undone.finding_id and findings.state in ('new', 'open')
    where
      undone.until > greatest($now::timestamptz, undone.finished_at)
      and not exists (
        from finding_events
        where
          finding_events.finding_id = undone.finding_id
          and finding_events.reason = 'accepted'
          and finding_events.changed_at >= undone.finished_at
      )
    qualify
      row_number() over (
        partition by undone.finding_id
        order by undone.started_at, undone.plan_id, undone.action_id
      ) = 1
  )
select plan_id, owner, until, max(finished_at) as undone_at, list(finding_id order by finding_id) as ids
from wanted
group by plan_id, owner, until
order by plan_id, until;
