-- Accepts findings until a time, with their severity and weight now: getting worse ends the acceptance.
update findings
set
  state = 'accepted',
  state_since = $now::timestamptz,
  accepted_at = $now::timestamptz,
  accepted_until = $until::timestamptz,
  accepted_reason = $reason,
  accepted_owner = $owner,
  accepted_severity = severity,
  accepted_weight = weight
where list_contains($ids::varchar[], finding_id) and state <> 'resolved';
