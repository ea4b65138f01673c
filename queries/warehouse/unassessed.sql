-- grain: one row per target and reason why some rules cannot be assessed now
-- parameters: $now, $stale_hours, $targets: a JSON list of {target, sources}: those of its sources that the rules read,
--   $rules: a JSON list of {rule, sources, elsewhere}
-- A rule concerns the targets for which all of its sources were ever pulled, if what it reads of other targets was.
with
  rules as (
    select unnest(from_json($rules, '[{"rule": "varchar", "sources": ["varchar"], "elsewhere": ["varchar"]}]'), recursive := true)
  ),
  targets as (select unnest(from_json($targets, '[{"target": "varchar", "sources": ["varchar"]}]'), recursive := true)),
  needed as (
    select rule, len(sources) as wanted, len(elsewhere) as wanted_elsewhere, unnest(sources) as source
    from rules
  ),
  elsewhere as (
    select
      rule,
      count(distinct state.source) as found,
      list(format('{} of {} is {}', state.source, state.target, state.status)) filter (where state.status not in ('complete', 'partial')) as broken,
    from (select rule, unnest(elsewhere) as source from rules)
    join source_state as state using (source)
    group by rule
  ),
  concerned as (
    select
      needed.rule,
      state.target,
      nullif(
        list_concat(
          list(format('{} is {}', state.source, state.status)) filter (where state.status not in ('complete', 'partial')),
          any_value(elsewhere.broken)
        ),
        []
      ) as broken,
    from needed
    join source_state as state using (source)
    join targets using (target)
    left join elsewhere using (rule)
    group by needed.rule, needed.wanted, needed.wanted_elsewhere, state.target
    having count(*) = needed.wanted and coalesce(any_value(elsewhere.found), 0) = needed.wanted_elsewhere
  ),
  assessed as (
    select concerned.*, evaluations.last_assessed_at
    from concerned
    left join rule_evaluations as evaluations using (rule, target)
  ),
  reasons as (
    select target, unnest(broken) as reason
    from concerned
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
    select target, if(target in (select target from source_state), 'never pulled: ' || string_agg(source, ', ' order by source), 'never pulled')
    from (select target, unnest(sources) as source from targets)
    anti join source_state using (target, source)
    group by target
  )
select target, reason
from reasons
order by target, reason;
