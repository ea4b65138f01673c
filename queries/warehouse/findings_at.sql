-- grain: one row per finding that was known at a time, with its state and severity of that time
-- {{scope}}: empty, or `temp ` for one connection
-- Where it was seen since, title, detail and weight are of later; what else came later is taken back, or null. Names the database, because
-- `--as-of` hides `findings` behind it, and what `finding_events` has of later.
create or replace {{scope}}macro findings_at(at_time) as table
with
  events as (
    select
      finding_id,
      count(*) filter (changed_at > at_time::timestamptz and reason = 'reopened') as reopened_later,
    from warehouse.main.finding_events
    group by finding_id
  )
select
  findings.* replace (
    states.severity as severity,
    states.state as state,
    states.state_since as state_since,
    if(findings.opened_at > at_time::timestamptz, states.opened_at, findings.opened_at) as opened_at,
    findings.times_reopened - events.reopened_later as times_reopened,
    if(states.state = 'resolved', states.changed_at, null) as resolved_at,
    if(findings.last_seen <= at_time::timestamptz, findings.last_seen, null) as last_seen,
    if(findings.unassessed_since <= at_time::timestamptz, findings.unassessed_since, null) as unassessed_since,
    if(findings.accepted_at <= at_time::timestamptz, findings.accepted_at, null) as accepted_at,
    if(findings.accepted_at <= at_time::timestamptz, findings.accepted_until, null) as accepted_until,
    if(findings.accepted_at <= at_time::timestamptz, findings.accepted_reason, null) as accepted_reason,
    if(findings.accepted_at <= at_time::timestamptz, findings.accepted_owner, null) as accepted_owner,
    if(findings.accepted_at <= at_time::timestamptz, findings.accepted_severity, null) as accepted_severity,
    if(findings.accepted_at <= at_time::timestamptz, findings.accepted_weight, null) as accepted_weight
  ),
from warehouse.main.findings as findings
join events using (finding_id)
join finding_states_at(at_time, null) as states using (finding_id);
