-- grain: one row per target of mail_routes and time since when rules could not be assessed there, those that can report the worst first
-- names: the first eight of them, since a mail cuts long texts; reason: the first of theirs
-- parameters: $as_of; $since; $guide: JSON list of what is said of the findings of each rule
with
  gaps as (
    select target, rule, reason, since, list_position(['info', 'warning', 'critical'], severity) as rank
    from unassessed_rules
    where
      target in (select target from mail_routes)
      and since <= $as_of::timestamptz
      and coalesce(ended_at > $as_of::timestamptz, true)
    union all
    -- a pull that no evaluation ever followed
    select target, unnest(from_json($guide, '[{"rule": "VARCHAR"}]')).rule, 'no rule was ever evaluated', min(as_of), 0
    from pulls
    where
      target in (select target from mail_routes)
      and as_of <= $as_of::timestamptz
      and target not in (select target from rule_evaluations)
      and target not in (select target from unassessed_rules)
    group by target
  )
select
  list(rule order by rule) as rules,
  concat(
    target,
    ': ',
    array_to_string(list(rule order by rank desc, rule)[:8], ', '),
    if(count(*) > 8, format(' and {:,} more', count(*) - 8), '')
  ) as names,
  first(reason order by rank desc, reason) as reason,
  count(distinct reason) > 1 as has_more_reasons,
  since,
  coalesce(since > $since::timestamptz, true) as changed,
from gaps
group by target, since
order by max(rank) desc, target, since;
