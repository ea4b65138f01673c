-- grain: one row per target: its last pull, null for none, and the last evaluation of the rules, null for none
-- parameters: $targets: list of target names
-- Each evaluation assesses the rules of the log of pulls for each target.
with
  pulled as (select target, max(tried_at) as pulled_at from source_state group by target),
  evaluated as (select target, max(last_assessed_at) as evaluated_at from rule_evaluations group by target)
select target, pulled_at, evaluated_at, coalesce(pulled_at > evaluated_at, pulled_at is not null) as waits
from (select unnest($targets::varchar[]) as target)
left join pulled using (target)
left join evaluated using (target)
order by target;
