-- grain: one row per target and reason why some rules cannot be assessed now
-- parameters: $now, $stale_hours, $targets: a JSON list of target names, $rules: a JSON list of {rule, sources}
-- A rule concerns the targets for which all of its sources were ever pulled.
with
  rules as (
    select unnest(from_json($rules, '[{"rule": "varchar", "sources": ["varchar"]}]'), recursive := true)
  ),
  targets as (select unnest(from_json($targets, '["varchar"]')) as target),
  needed as (select rule, len(sources) as wanted, unnest(sources) as source from rules),
  concerned as (
    select
      needed.rule,
      state.target,
      list(state.source order by state.source) filter (where state.status not in ('complete', 'partial')) as broken,
    from needed
    join source_state as state using (source)
    join targets using (target)
    group by needed.rule, needed.wanted, state.target
    having count(*) = needed.wanted
  ),
  assessed as (
    select concerned.*, evaluations.last_assessed_at
    from concerned
    left join rule_evaluations as evaluations using (rule, target)
  ),
  reasons as (
    select target, format('{} is {}', source, status) as reason
    from (select distinct target, unnest(broken) as source from concerned)
    join source_state using (target, source)
    union
    select gaps.target, format('{}: {}', gaps.rule, gaps.reason)
    from unassessed_rules as gaps
    join assessed using (target, rule)
    where gaps.ended_at is null and assessed.broken is null
    union
    select target, format('{} never assessed', rule)
    from assessed
    where
      broken is null
      and last_assessed_at is null
      and (target, rule) not in (select (target, rule) from unassessed_rules where ended_at is null)
    union
    select target, format('nothing assessed since {}', strftime(min(last_assessed_at), '%Y-%m-%d %H:%M UTC'))
    from assessed
    where broken is null and last_assessed_at < $now::timestamptz - to_seconds($stale_hours * 3600)
    group by target
    union
    select target, 'never pulled'
    from targets
    anti join source_state using (target)
  )
select target, reason
from reasons
order by target, reason;
