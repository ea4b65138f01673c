-- An acceptance outlasts that the configuration leaves its finding out: found again before its end, and no worse, the finding is accepted.
-- parameters: $as_of
update transition
set
  state = if(transition.change = 'reopened', 'accepted', transition.state),
  change = if(transition.change = 'reopened', 'accepted', transition.change),
  times_reopened = known.times_reopened,
  opened_at = known.opened_at,
  accepted_at = known.accepted_at,
  accepted_until = known.accepted_until,
  accepted_reason = known.accepted_reason,
  accepted_owner = known.accepted_owner,
  accepted_severity = known.accepted_severity,
  accepted_weight = known.accepted_weight
from findings as known
where
  known.finding_id = transition.finding_id
  and known.accepted_until > $as_of::timestamptz
  and (
    (transition.change = 'left out' and known.state = 'accepted')
    or (
      transition.change = 'reopened'
      and list_position(['info', 'warning', 'critical'], transition.severity) <= list_position(['info', 'warning', 'critical'], known.accepted_severity)
      and not coalesce(transition.weight > known.accepted_weight, false)
    )
  );
