-- grain: one row per target for which a report may conclude what a rule concludes, as of a time: the last pull of every source that the rule
-- needs was loaded, and the rule is not recorded as unassessed
-- defined: before the views
create or replace macro assessed_targets(rule_name, needed_sources, at_time) as table
with
  complete as (
    select target, count(*) as sources
    from source_state_at(at_time)
    where status in ('complete', 'partial') and list_contains(needed_sources, source)
    group by target
  )
select target
from complete
where
  sources = len(needed_sources)
  and target not in (
    select target
    from unassessed_rules
    where
      rule = rule_name
      and since <= at_time::timestamptz
      and coalesce(ended_at > at_time::timestamptz, true)
      and (target, rule, since) not in (select (target, rule, since) from partial_periods)
  );
