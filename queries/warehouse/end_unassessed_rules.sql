-- Ends the periods of what was assessed, and of rules, sources and targets that are gone.
-- parameters: $as_of; $targets: the configured ones, null for all
update unassessed_rules
set ended_at = $as_of::timestamptz
where
  ended_at is null
  and (
    exists (from assessments where assessed and assessments.rule = unassessed_rules.rule and assessments.target = unassessed_rules.target)
    or (rule, target) not in (select (rule, target) from assessments)
    or not list_contains($targets::varchar[], target)
  );
