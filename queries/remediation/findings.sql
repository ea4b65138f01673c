-- grain: one row per finding of a rule that is not resolved, the worst first; an acceptance that has expired counts as open
-- reason: why it may not be acted on; null where it may. A pull without an evaluation leaves old findings beside fresh sources.
-- seen_ms: when the services were read that it was last found in, in milliseconds since 1970. That is before `last_seen` where a run loads
-- the landing of an interrupted one.
-- parameters: $rule, $sources (that the rule reads), $targets, $now, $stale_hours
with
  times as (
    select
      * replace (if(state = 'accepted' and accepted_until <= $now::timestamptz, 'open', state) as state),
      replace(replace(accepted_until::varchar, ' ', 'T'), '+00', 'Z') as accepted_time,
      replace(replace(unassessed_since::varchar, ' ', 'T'), '+00', 'Z') as unassessed_time,
      replace(replace(last_seen::varchar, ' ', 'T'), '+00', 'Z') as seen_time,
      last_seen < $now::timestamptz - to_seconds($stale_hours::double * 3600) as is_old,
    from findings
    where rule = $rule and state <> 'resolved' and list_contains($targets::varchar[], target)
  ),
  wanted as (
    select target, source, list_position($sources::varchar[], source) as position
    from (select unnest($targets::varchar[]) as target)
    cross join (select unnest($sources::varchar[]) as source)
  ),
  stale as (
    select
      wanted.target,
      -- What belongs to a part that could not be listed is not assessed.
      case
        when source_state.as_of is null then format('source {} was never pulled completely', wanted.source)
        when source_state.status not in ('complete', 'partial')
          then format('source {} is stale: the status of its last pull is {}', wanted.source, source_state.status)
        when source_state.as_of < $now::timestamptz - to_seconds($stale_hours::double * 3600)
          then format(
            'source {} is stale: last pulled at {}',
            wanted.source,
            replace(replace(source_state.as_of::varchar, ' ', 'T'), '+00', 'Z')
          )
      end as reason,
      wanted.position,
    from wanted
    left join source_state on source_state.target = wanted.target and source_state.source = wanted.source
  ),
  stale_targets as (
    select target, arg_min(reason, position) as reason
    from stale
    where reason is not null
    group by target
  ),
  extracted as (
    select target, source, max(coalesce(extracted_at, as_of)) as extracted_at
    from pulls
    where status in ('complete', 'partial') and list_contains($sources::varchar[], source)
    group by target, source
  ),
  extracted_targets as (
    select target, min(extracted_at) as extracted_at
    from extracted
    group by target
  )
select
  times.finding_id,
  times.target,
  times.subject_id,
  times.subject_name,
  times.title,
  times.detail,
  coalesce(times.opened_at, times.first_seen) as since,
  case
    when times.state = 'accepted'
      then format('accepted until {}: {}', times.accepted_time, coalesce(times.accepted_reason, 'no reason given'))
    when times.unassessed_time is not null
      then format('not assessed since {}: it may no longer apply', times.unassessed_time)
    when stale_targets.reason is not null then stale_targets.reason
    when times.is_old then format('last found at {}: run a job to evaluate the rule again', times.seen_time)
  end as reason,
  epoch_ms(least(times.last_seen, extracted_targets.extracted_at)) as seen_ms,
from times
left join stale_targets on stale_targets.target = times.target
left join extracted_targets on extracted_targets.target = times.target
order by
  list_position(['critical', 'warning', 'info'], times.severity),
  times.weight desc nulls last,
  times.subject_name nulls last,
  times.target,
  times.title,
  times.finding_id;
