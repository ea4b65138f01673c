-- Ends the periods of what was assessed, and of rules, sources and targets that are gone.
-- parameters: $as_of; $targets: the configured ones, null for all
update unassessed_rules
set ended_at = $as_of::timestamptz
where
  ended_at is null
  and (
    exists (
      from assessments
      where
        assessments.rule = unassessed_rules.rule
        and assessments.target = unassessed_rules.target
        -- a rule that is assessed but for some parts keeps that period only, and one that is not assessed the other
        and if((target, rule, since) in (select (target, rule, since) from partial_periods), tried and (not assessed or parts is null), assessed)
    )
    or (rule, target) not in (select (rule, target) from assessments)
    or not list_contains($targets::varchar[], target)
  );
